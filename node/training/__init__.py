"""Training outside of a run, from the admitted data that a folder holds."""
