"""Nodes of a run find each other on the LAN."""
