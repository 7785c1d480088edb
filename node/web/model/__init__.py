"""What the pages show: a file beside the node's store, made of its log and of nothing else, kept up to date as it grows."""
