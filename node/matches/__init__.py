"""Matches between releases and other players, their records and ratings."""
