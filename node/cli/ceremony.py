"""What commands that change a run by its root keys share: options, asking before a signature, what has to travel.

Spec: docs/ceremonies.md, docs/spec/proposal.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from node.disk.home import Home
    from node.founding.ceremony import Agree, ChangeRoot, Instead
    from node.founding.proposal import Proposal
    from protocol.ed25519 import SecretKey

key_option = click.option(
    "--key",
    "key_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file of the root key to sign with; default: the one in DIR, if it is there.",
)
yes_option = click.option("--yes", is_flag=True, help="Sign without asking.")
directory_argument = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
instead_option = click.option(
    "--instead", is_flag=True, help="Take the place of a version of this number that has enough signatures already."
)


def signing_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that makes a version and signs it: `key_file`, `yes` and `instead`."""
    for option in (instead_option, yes_option, key_option):
        command = option(command)
    return command


def log_index(first: int = 0) -> click.IntRange:
    """The type of an option that names an entry of the log."""
    return click.IntRange(first, 2**63 - 1)


def run_home(directory: Path) -> "Home":
    """The directory of a node that has a run; raises FoundingError or HomeError."""
    from node.disk.home import Home
    from node.founding.errors import FoundingError

    home = Home(directory)
    if not home.ticket.exists():
        raise FoundingError(f"{directory}: no run is here; make one: gonode run init")
    home.load_ticket()
    return home


@dataclass(frozen=True, slots=True)
class Signing:
    """How a command makes a root version of the run in `home`: with which key at hand, asking whom, in place of what."""

    home: "Home"
    secret: "SecretKey | None"
    key_file: Path | None
    yes: bool
    instead: bool

    @classmethod
    def given(cls, home: "Home", key_file: Path | None, yes: bool, instead: bool) -> Self:
        """By the values of `signing_options`."""
        from node.founding.ceremony import signing_key

        return cls(home, signing_key(home, key_file), key_file, yes, instead)

    def propose(self, change: "ChangeRoot", tell: "Callable[[Proposal], None] | None" = None) -> None:
        """Makes the version, after `tell` shows it to whoever is asked signs it, and says what has to travel."""
        from node.founding.ceremony import propose_root

        agree = agreement(self.secret is not None and not self.yes)

        def shown(proposal: "Proposal") -> bool:
            if tell is not None:
                tell(proposal)
            return agree(proposal)

        propose_root(self.home, change, self.secret, shown, replacement(self.instead))
        tell_missing(self.home.directory, self.secret, self.key_file)


def agreement(asks: bool) -> "Agree":
    """Prints a proposal in words, then asks, if `asks`, whether to sign it; where nobody can be asked it stays unsigned."""

    def agree(proposal: "Proposal") -> bool:
        from node.disk.passphrase import is_terminal
        from node.founding.proposal_text import describe_proposal

        click.echo("\n".join(describe_proposal(proposal)))
        return not asks or (is_terminal() and click.confirm("Sign this?", default=False, err=True))

    return agree


def confirm(proposals: "list[Proposal]", yes: bool) -> bool:
    """Shows what is to be signed, and asks unless `yes`."""
    from node.disk.passphrase import is_terminal
    from node.founding.errors import ProposalError
    from node.founding.proposal_text import describe_proposal

    if not yes and not is_terminal():
        raise ProposalError(
            "Nobody can be asked here: read what is to be signed (gonode root show), then sign with --yes."
        )
    for proposal in proposals:
        click.echo("\n".join(describe_proposal(proposal)), err=True)
    return yes or click.confirm("Sign this?", default=False, err=True)


def replacement(instead: bool) -> "Instead":
    """What happens when a complete version waits: without `--instead` it stays, with it whoever replaces it is warned."""
    from node.founding.ceremony import refuse_instead

    def warn(complete: "Proposal") -> None:
        click.echo(
            f"Warning: {complete.name} has enough signatures, and they hold wherever its file is: who has it can still give "
            "it to nodes and the coordinator, and of two versions of one number the one that is logged first counts. Have "
            "every copy destroyed.",
            err=True,
        )

    return warn if instead else refuse_instead


def tell_missing(directory: Path, secret: "SecretKey | None" = None, key_file: Path | None = None) -> None:
    """Says on standard error what is still to be signed, and which files have to travel to which holders of root keys.

    `secret`: a key that was at hand, from `key_file` or the directory; where it did not sign, how it does so now is said.
    """
    from node.disk.home import Home
    from node.founding.ceremony import proposals, travelling

    home = Home(directory)
    for proposal in proposals(home):
        if proposal.is_complete:
            click.echo(f"{proposal.name} is complete. Restart the coordinator to log it.", err=True)
            continue
        told = [f"Not signed yet: {proposal.missing}."]
        is_at_hand = secret is not None and secret.public in proposal.keys and secret.public not in proposal.signers
        if is_at_hand:
            told.append(f"Sign with the key that is here: {_sign_here(directory, key_file)}.")
        if not (is_at_hand and secret is not None and proposal.signed(secret).is_complete):
            told.append(
                f"Have the holders sign {travelling(home, proposal)} (gonode root sign FILE --key KEYFILE), then: gonode "
                f"root collect {directory} FILE."
            )
        click.echo(" ".join(told), err=True)


def _sign_here(directory: Path, key_file: Path | None) -> str:
    """The command that signs what waits in a directory; it cannot ask where there is no terminal."""
    from node.disk.passphrase import is_terminal

    key = "" if key_file is None else f" --key {key_file}"
    return f"gonode root sign {directory}{key}{'' if is_terminal() else ' --yes'}"


def parse_key_request(text: str, whose: str = "verifier") -> bytes:
    """The key in a request: 64 hexadecimal digits."""
    from node.founding.errors import FoundingError

    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise FoundingError(f"{text[:80]!r} is not a {whose}'s key (64 hexadecimal digits).")
    return key
