"""The verifier: replays, verdicts, epoch secrets, cosignatures, proofs."""
