"""The next version of a run's manifest: what is in force, with a file, presets and settings on top.

Spec: docs/spec/manifest.md ("Semantics"). A version acts from its entry's index on: games of a release follow the manifest
that the release names, a training cycle the one in force when its window was committed.
"""

from pathlib import Path

from node.disk.home import Home
from node.founding.ceremony import Agree, Instead, propose_manifest, refuse_instead
from node.founding.errors import ProposalError
from node.founding.founding import check_gate
from node.founding.layers import Choices, LayerError, lay_file
from node.founding.manifest_file import ManifestFileError, parse_manifest, table_of_manifest
from node.founding.proposal import Proposal
from protocol.ed25519 import SecretKey
from protocol.errors import ProtocolError
from protocol.manifest import Manifest
from verification.faults import LogFault


def amend(
    home: Home,
    source: Path | None,
    choices: Choices,
    secret: SecretKey | None,
    agree: Agree = lambda proposal: True,
    instead: Instead = refuse_instead,
) -> Proposal:
    """Keeps the next manifest version, signed by `secret` where it is given and `agree` says so.

    `instead` is told of a version that others completed and this one takes the place of. Raises FoundingError,
    ManifestFileError or HomeError.
    """
    if source is None and not choices.presets and not choices.settings:
        raise ProposalError("Nothing is to be changed: give --from FILE, --preset NAME or --set KEY=VALUE.")

    def change(manifest: Manifest) -> Manifest:
        changed = amended(manifest, source, choices)
        if changed.network != manifest.network:
            raise ProposalError(
                "A manifest's network is that of the run's beginning; another size is begun by: gonode coordinate --grow."
            )
        if changed.rules != manifest.rules:
            raise ProposalError(
                "The rules of a run stay: games of before the change would be read by others to train on."
            )
        if changed.admission.games_per_batch != manifest.admission.games_per_batch:
            raise ProposalError("The size of a batch stays: those that are signed and not logged yet never could be.")
        check_gate(changed.gate)
        return changed

    return propose_manifest(home, change, secret, agree, instead)


def amended(manifest: Manifest, source: Path | None, choices: Choices) -> Manifest:
    """A manifest with a file and choices on top; its run and version are those of a first one. Raises ManifestFileError."""
    table = table_of_manifest(manifest)
    try:
        table = choices.lay_over(table if source is None else lay_file(table, source))
    except LayerError as error:
        raise ManifestFileError(str(error)) from None
    try:
        return parse_manifest(table)
    except (ManifestFileError, ProtocolError, LogFault) as error:
        raise ManifestFileError(f"{choices.describe(str(source or 'manifest'))}: {error}") from None
