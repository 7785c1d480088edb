"""What a node keeps: its directory, keys, store, blobs, and the public folder."""
