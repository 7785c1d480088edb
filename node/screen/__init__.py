"""What a running node shows: a panel on a terminal, else plain lines."""
