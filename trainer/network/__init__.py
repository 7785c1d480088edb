"""The float network that is trained, its losses, and the moments of its norms."""
