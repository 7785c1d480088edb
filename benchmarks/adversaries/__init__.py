"""Adversaries against the real admission code, and the formulas that say what each of them can reach."""
