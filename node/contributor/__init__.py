"""The contributor: registers, plays, signs batches."""
