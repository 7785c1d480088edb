"""`gonode gtp`: a network at the board of any program that speaks the Go Text Protocol, version 2 (docs/gtp.md)."""
