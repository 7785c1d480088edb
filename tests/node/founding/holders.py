"""A run of three offline root keys of which two have to sign, and what their holders do."""

from collections.abc import Sequence
from pathlib import Path

from node.disk.home import Home
from node.founding.ceremony import collect, proposals, travelling
from node.founding.founding import FoundedRun, found_run
from node.founding.layers import Choices
from node.founding.proposal import Proposal
from protocol.ed25519 import SecretKey
from tests.node.keys import secret

ADDRESS = "/ip4/127.0.0.1/tcp/4001"
HOLDERS = [secret(200 + number) for number in range(3)]
STRANGER = secret(299)
QUICK = Choices(("7x7", "no-gates"))
"""A run that is made at once, since its gate has no power to be computed."""


def found(directory: Path, verifiers: Sequence[bytes] = ()) -> FoundedRun:
    """The run as founded, with no signature yet."""
    owners = [key.public for key in HOLDERS]
    return found_run(directory, None, verifiers, ADDRESS, QUICK, owners, 2)


def sign(home: Home, folder: Path, *secrets: SecretKey) -> list[Proposal]:
    """Has these holders sign copies of all that waits, each apart, and brings the copies back."""
    done = []
    for proposal in proposals(home):
        for number, key in enumerate(secrets):
            copy = folder / f"copy-{number}"
            copy.write_bytes(Proposal.parse(travelling(home, proposal).read_bytes()).signed(key).encode())
            done.append(collect(home, copy))
    return done
