"""How a running node stands, as numbers for Prometheus and whatever else reads its text format."""
