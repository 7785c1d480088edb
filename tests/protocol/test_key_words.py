"""Keys as 24 words: BIP39's own vectors, and every single mistake that its checksum can find."""

from random import Random

import pytest

from protocol.ed25519 import SecretKey
from protocol.errors import BadKeyFile
from protocol.key_words import encode_words, parse_words

# The vectors of 256 bits of BIP39's reference implementation.
VECTORS = {
    "00" * 32: " ".join(["abandon"] * 23 + ["art"]),
    "7f" * 32: (
        "legal winner thank year wave sausage worth useful legal winner thank year wave sausage worth useful legal winner "
        "thank year wave sausage worth title"
    ),
    "80" * 32: (
        "letter advice cage absurd amount doctor acoustic avoid letter advice cage absurd amount doctor acoustic avoid "
        "letter advice cage absurd amount doctor acoustic bless"
    ),
    "ff" * 32: " ".join(["zoo"] * 23 + ["vote"]),
}


@pytest.mark.parametrize("seed", VECTORS)
def test_the_reference_vectors(seed: str) -> None:
    secret = SecretKey(bytes.fromhex(seed))
    assert encode_words(secret) == VECTORS[seed]
    assert parse_words(VECTORS[seed]) == secret
    assert parse_words("\n\t" + VECTORS[seed].upper().replace(" ", "  \n") + "\n") == secret


def test_keys_come_back() -> None:
    for _ in range(50):
        secret = SecretKey.generate()
        assert parse_words(encode_words(secret)) == secret


def test_mistakes_are_found() -> None:
    rng, found = Random(1), 0
    words = encode_words(SecretKey(bytes(range(32)))).split()
    every = sorted(set(" ".join(VECTORS.values()).split()))
    for _ in range(400):
        wrong = list(words)
        wrong[rng.randrange(24)] = rng.choice(every)
        try:
            found += parse_words(" ".join(wrong)) != SecretKey(bytes(range(32)))
        except BadKeyFile:
            continue
    assert found <= 8  # the checksum has eight bits: one mistake of 256 is not seen


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "24 words, not 0"),
        ("abandon " * 23, "24 words, not 23"),
        ("abandon " * 25, "24 words, not 25"),
        ("abandon " * 24, "do not fit together"),
        ("abandon " * 23 + "xyzzy", "Word 24 is not in the list"),
        ("\udcff " * 24, "Word 1 is not"),
    ],
)
def test_what_is_no_key(text: str, why: str) -> None:
    with pytest.raises(BadKeyFile, match=why):
        parse_words(text)
