"""`gonode analysis`: positions for programs that speak the protocol of KataGo's analysis engine (docs/analysis.md)."""
