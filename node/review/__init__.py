"""Game records with what a network says of them: `gonode analyze`."""
