"""Somebody to play against: a network of the run or of a file, over the board, outside of training."""
