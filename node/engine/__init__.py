"""The engine as a node sees it: what computes for long, in a process of its own."""
