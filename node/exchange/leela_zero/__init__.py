"""Games as positions to train on, in the files of Leela Zero."""
