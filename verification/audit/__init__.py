"""What an auditor recomputes from a run's public folder: one file a question, and `audit` which asks them in order."""
