"""Judges bytes: the log's state, admission, draws, replay, fraud proofs, gate arithmetic and the audit.

Nothing here opens a file, a socket or a clock: bytes come in, answers go out, replays run in `native`.
"""
