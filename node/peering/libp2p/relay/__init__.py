"""Relays: serving them, and using them."""
