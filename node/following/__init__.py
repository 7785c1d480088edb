"""Following the log: pulling it, serving it, proving a fork."""
