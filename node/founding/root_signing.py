"""The next version of a run's root: signed here by the root's key, logged by the coordinator when it starts.

Spec: `docs/spec/root.md`. A root version holds by its signatures alone, so the signed file may come from anywhere.
"""

from collections.abc import Sequence
from pathlib import Path

from node.disk.files import write_file
from node.disk.home import Home
from node.disk.keyring import load_key
from node.disk.store import Store
from node.founding.founding import FoundingError, load_envelope
from protocol.ed25519 import check_key
from protocol.envelope import Envelope
from protocol.root import VERIFIER, Role, Root

NEXT_ROOT = "root.next"


def sign_root(directory: Path, verifiers: Sequence[bytes]) -> Root:
    """Writes the next root version, with these verifiers besides the old ones; raises FoundingError or KeyringError.

    One that waits to be logged is replaced by one of the same version with its verifiers too, since versions rise by one.
    """
    home = Home(directory)
    logged = _logged_root(home)
    waiting = next_root(home)
    newest = logged if waiting is None else max(logged, Root.open(waiting), key=lambda root: root.version)
    secret = load_key(home.key("root"))
    run = home.load_ticket().run
    if secret.public not in newest.keys or newest.threshold > 1:
        raise FoundingError("The root's threshold needs other keys than the one in this directory.")
    roles = list(newest.roles)
    for key in verifiers:
        check_key(key)
        if newest.find(key) is not None:
            raise FoundingError(f"{key.hex()[:16]} has a role already.")
        roles.append(Role(VERIFIER, key, f"verifier-{key.hex()[:8]}"))
    count = sum(role.role == VERIFIER for role in roles)
    root = Root(run, logged.version + 1, newest.threshold, newest.keys, tuple(roles), count // 2 + 1)
    write_file(directory / NEXT_ROOT, root.seal(secret).encode())
    return root


def next_root(home: Home) -> Envelope | None:
    """The signed root version that waits to be logged."""
    path = home.directory / NEXT_ROOT
    return load_envelope(path) if path.exists() else None


def _logged_root(home: Home) -> Root:
    """The newest root version in the coordinator's log; version 1 before its first start."""
    newest: Root | None = None
    if home.database.exists():
        with Store(home.database) as store:
            for entry in store.iterate_log():
                envelope = Envelope.parse(entry)
                if envelope.type == Root.payload_type():
                    newest = Root.open(envelope)
    return newest or Root.open(load_envelope(home.directory / "root"))
