"""The games in the blobs that this node has: an index of them, single games with their searches, SGF, and daily files."""
