"""SSHSIG: signatures of files that `ssh-keygen -Y verify` checks.

Spec: `docs/spec/statement.md` ("SHA256SUMS.sig"); OpenSSH, PROTOCOL.sshsig. The signed bytes begin with `SSHSIG`, so that no
signature over an envelope or a checkpoint passes for one of these.
"""

from base64 import b64encode
from hashlib import sha256, sha512
from typing import Final

NAMESPACE: Final = "file"
_MAGIC: Final = b"SSHSIG"
_VERSION: Final = 1
_KEY_TYPE: Final = b"ssh-ed25519"
_HASH: Final = b"sha512"
_LINE: Final = 70


def ssh_message(data: bytes) -> bytes:
    """The bytes that are signed for a file's content."""
    return _MAGIC + _texts(NAMESPACE.encode(), b"", _HASH, sha512(data).digest())


def ssh_signature(key: bytes, signature: bytes) -> bytes:
    """The armoured signature file of an Ed25519 key's signature over `ssh_message`."""
    blob = (
        _MAGIC
        + _VERSION.to_bytes(4, "big")
        + _texts(_texts(_KEY_TYPE, key), NAMESPACE.encode(), b"", _HASH, _texts(_KEY_TYPE, signature))
    )
    text = b64encode(blob).decode()
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode()


def allowed_signers(identity: str, key: bytes) -> bytes:
    """The file by which ssh-keygen knows whose key it is, for this namespace alone."""
    public = b64encode(_texts(_KEY_TYPE, key)).decode()
    return f'{identity} namespaces="{NAMESPACE}" {_KEY_TYPE.decode()} {public}\n'.encode()


def fingerprint(key: bytes) -> str:
    """How ssh-keygen names an Ed25519 key."""
    return f"SHA256:{b64encode(sha256(_texts(_KEY_TYPE, key)).digest()).decode().rstrip('=')}"


def _texts(*items: bytes) -> bytes:
    """SSH's strings: each a length (u32, big-endian) and the bytes."""
    return b"".join(len(item).to_bytes(4, "big") + item for item in items)
