"""Audits of a folder or a run, copies of a run, and fraud proofs as files."""
