"""The `gonode` command: what each role types.

Contract: exit status 0 done, 1 the answer is no, 2 wrong use or bad input (one clear sentence), 3 could not be reached, 130
interrupted. Heavy imports (libp2p, the engine) happen inside commands, so that `--help` answers at once.
"""

from node.cli.main import main

__all__ = ["main"]
