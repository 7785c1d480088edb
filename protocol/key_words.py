"""A secret key as 24 words of BIP39's English list, to write on paper: the 256 bits of the seed and 8 of a checksum.

Spec: docs/spec/keyfile.md ("Words"). The words are the key itself, under no passphrase; BIP39's own derivation is not used.
"""

from functools import cache
from typing import Final

from mnemonic import Mnemonic

from protocol.ed25519 import SecretKey
from protocol.errors import BadKeyFile

WORDS: Final = 24


def encode_words(secret: SecretKey) -> str:
    """The words of a key, with single blanks between them."""
    return _list().to_mnemonic(secret.seed)


def parse_words(text: str) -> SecretKey:
    """The key of 24 words, in any case and with any white space between them; raises BadKeyFile."""
    words = text.lower().split()
    if len(words) != WORDS:
        raise BadKeyFile(f"A key has {WORDS} words, not {len(words)}.")
    known = _list().wordlist
    for number, word in enumerate(words, 1):
        if word not in known:
            raise BadKeyFile(f"Word {number} is not in the list of words.")
    try:
        return SecretKey(bytes(_list().to_entropy(words)))
    except ValueError:
        raise BadKeyFile("The words do not fit together: one is wrong, or two changed places.") from None


@cache
def _list() -> Mnemonic:
    return Mnemonic("english")
