"""What a run did, from the folder of a node: its numbers, and a page or a picture of them."""
