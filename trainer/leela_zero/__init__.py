"""Networks of Leela Zero's architecture, trained on positions of its training files."""
