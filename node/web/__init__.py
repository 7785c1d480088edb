"""Pages about a run: the audit page, which checks a run's public folder in its visitor's own browser."""
