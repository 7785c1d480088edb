"""`python -m tests.e2e.cheat TICKET ...` is `gonode join TICKET ...` by somebody who changes a root value before signing."""

import sys

import node.roles
from node.cli import main
from node.contributor.contributor import Contributor
from tests.verification import edits
from verification.releases import ReleaseInfo


class Cheat(Contributor):
    """Signs games with one ply that the search does not give."""

    def _seal(self, release: ReleaseInfo, first: int, blocks: list[bytes], final: bool) -> None:
        changed = edits.of_game(0, edits.value(3))(blocks) if blocks else blocks
        super()._seal(release, first, changed, final)


if __name__ == "__main__":
    vars(node.roles)["Contributor"] = Cheat
    sys.argv[1:] = ["join", *sys.argv[1:]]
    main()
