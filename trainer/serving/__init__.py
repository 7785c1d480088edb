"""Evaluations for the engine's process by torch, integer for integer."""
