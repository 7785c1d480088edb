"""Named errors of the protocol: one class for each graded outcome of a vector.

Spec: docs/spec/canonical.md ("Errors"). Each class carries the `label` under which vectors, rejections and commands
name it; each message is one sentence that a person can act on. Bytes from outside raise these and nothing else.
"""

from typing import ClassVar


class ProtocolError(ValueError):
    """Bytes or claims from outside that do not hold; `label` is the outcome's name in vectors and rejections."""

    label: ClassVar[str] = "protocol error"


class ParseError(ProtocolError):
    """The bytes are not the format that they claim to be."""

    label = "parse error"


class NotCanonical(ProtocolError):
    """The bytes can be read, but another encoding of the same content is the only accepted one."""

    label = "not canonical"


class TooLarge(ProtocolError):
    """A size, count or depth is over its limit."""

    label = "too large"


class BadKey(ProtocolError):
    """A public key that no honest signer has: wrong length, not canonical, or of low order."""

    label = "bad key"


class BadSignature(ProtocolError):
    """A signature is absent, repeated, or does not fit its key and message."""

    label = "bad signature"


class WrongSigner(ProtocolError):
    """The signatures hold, but they are not by whom they have to be."""

    label = "wrong signer"


class BadProof(ProtocolError):
    """A Merkle proof does not lead to the root that it has to."""

    label = "bad proof"


class BadDigest(ProtocolError):
    """Content does not hash to the digest that names it."""

    label = "bad digest"


class BadKeyFile(ProtocolError):
    """A key file is damaged, or does not open with this passphrase."""

    label = "bad key file"


class BadTicket(ProtocolError):
    """The text is not a whole ticket."""

    label = "bad ticket"


class BadStamp(ProtocolError):
    """A registration's stamp is absent, or its nonce does not reach the difficulty."""

    label = "bad stamp"
