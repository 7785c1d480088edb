"""Blobs between peers: who has what, fetching from several, serving, limits."""
