"""Contributors with a recovery key in a `World`, and the replacement of theirs."""

from hashlib import sha256

from protocol.ed25519 import SecretKey
from protocol.recovery import KeyReplacement
from protocol.registration import Registration
from tests.verification.world import World


def register(world: World, name: str) -> SecretKey:
    """Registers a contributor whose recovery key is `recovery NAME`, and makes its beacon."""
    key = world.peers[name] = world.key(name)
    size = world.state.size
    recovery_hash = sha256(world.key(f"recovery {name}").public).digest()
    record = Registration(
        world.run, key.public, name, recovery_hash, size, world.state.tree.root(), world.invite(name), 0
    )
    world.log(record, key)
    world.share_set()
    return key


def replacement(world: World, name: str, invalid_from: int | None = None) -> KeyReplacement:
    """What replaces the key of `name` by `new NAME`."""
    keys = [world.key(each).public for each in (name, f"recovery {name}", f"new {name}")]
    return KeyReplacement(world.run, *keys, world.state.size if invalid_from is None else invalid_from)


def replace_key(world: World, name: str, invalid_from: int | None = None) -> SecretKey:
    """Logs the replacement of the key of `name`, and makes its beacon; the new key."""
    new = world.peers[f"new {name}"] = world.key(f"new {name}")
    world.log(replacement(world, name, invalid_from), world.key(f"recovery {name}"), new)
    world.share_set()
    return new
