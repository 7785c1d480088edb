"""Checkpoints: the examples of the C2SP specifications, round trips, and who may sign what."""

from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import checkpoint, ed25519
from protocol.checkpoint import Checkpoint, NoteSignature, SignedNote
from protocol.ed25519 import SecretKey
from protocol.errors import BadSignature, ParseError, ProtocolError, WrongSigner

LOG, WITNESS = SecretKey(b"l" * 32), SecretKey(b"w" * 32)
ORIGIN, NAME = "gonode/example", "witness/one"
HEAD = Checkpoint(ORIGIN, 300, bytes(range(32)))
names = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), exclude_characters="+"), min_size=1, max_size=20
)


def test_the_note_of_the_specification() -> None:
    """C2SP signed-note, "Verifier keys", "Example"."""
    vkey = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    note = (
        "This is an example message.\n\n\u2014 example.com/foo "
        "Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
    ).encode()
    key = b64decode(vkey.split("+", 2)[2])[1:]
    parsed = SignedNote.parse(note)
    assert parsed.encode() == note
    assert checkpoint.verifier_key("example.com/foo", key, checkpoint.ED25519) == vkey
    line = parsed.find("example.com/foo", key, checkpoint.ED25519)
    ed25519.verify(key, parsed.text.encode(), line.signature)
    with pytest.raises(ParseError):
        checkpoint.verify(parsed, key, "example.com/foo")  # signed, but no checkpoint


def test_the_checkpoint_of_the_specification() -> None:
    """C2SP tlog-cosignature, "Introduction"."""
    note = (
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n"
        "\u2014 example.com/behind-the-sofa "
        "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
        "\u2014 witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin"
        "1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n"
    ).encode()
    parsed = SignedNote.parse(note)
    assert parsed.encode() == note
    head = Checkpoint.parse(parsed.text)
    assert (head.origin, head.size) == ("example.com/behind-the-sofa", 20852163)
    assert int.from_bytes(parsed.signatures[1].signature[:8], "big") == 1679315147


@settings(deadline=None, max_examples=60)
@given(names, st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32), st.integers(0, 2**63 - 1), names)
def test_signed_and_cosigned_checkpoints_round_trip(
    origin: str, size: int, root: bytes, unix_s: int, name: str
) -> None:
    head = Checkpoint(origin, size, root)
    assert Checkpoint.parse(head.body()) == head
    note = head.sign(LOG).with_signatures([checkpoint.cosign(head.body(), WITNESS, name, unix_s)])
    parsed = SignedNote.parse(note.encode())
    assert parsed == note
    assert checkpoint.verify(parsed, LOG.public, origin) == head
    assert checkpoint.verify_cosignature(parsed, WITNESS.public, name) == unix_s


def verify_both(data: bytes) -> None:
    note = SignedNote.parse(data)
    checkpoint.verify(note, LOG.public, ORIGIN)
    checkpoint.verify_cosignature(note, WITNESS.public, NAME)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_any_changed_byte_is_refused(data: st.DataObject) -> None:
    whole = HEAD.sign(LOG).with_signatures([checkpoint.cosign(HEAD.body(), WITNESS, NAME, 5)]).encode()
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with pytest.raises(ProtocolError):
        verify_both(changed)


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=100) | st.binary(max_size=100).map(lambda data: data.decode("latin-1")))
def test_arbitrary_text_is_refused_by_name(text: str) -> None:
    for call in (
        lambda: SignedNote.parse(text.encode("utf-8", "replace")),
        lambda: Checkpoint.parse(text),
        lambda: NoteSignature.parse(text),
    ):
        with pytest.raises(ProtocolError):
            call()


def test_a_log_signature_does_not_pass_for_a_cosignature_nor_the_reverse() -> None:
    note = HEAD.sign(LOG)
    with pytest.raises(WrongSigner):
        checkpoint.verify_cosignature(note, LOG.public, ORIGIN)
    cosigned = SignedNote(HEAD.body(), (checkpoint.cosign(HEAD.body(), LOG, ORIGIN, 1),))
    with pytest.raises(WrongSigner):
        checkpoint.verify(cosigned, LOG.public, ORIGIN)
    line = note.signatures[0]
    forged = NoteSignature(
        ORIGIN, checkpoint.key_id(ORIGIN, LOG.public, checkpoint.COSIGNATURE_V1), bytes(8) + line.signature
    )
    with pytest.raises(BadSignature):
        checkpoint.verify_cosignature(SignedNote(HEAD.body(), (forged,)), LOG.public, ORIGIN)


def test_signatures_are_added_once() -> None:
    line = checkpoint.cosign(HEAD.body(), WITNESS, NAME, 5)
    note = HEAD.sign(LOG).with_signatures([line, line]).with_signatures([line])
    assert len(note.signatures) == 2


@pytest.mark.parametrize("origin", ["", "a b", "a+b", "a\nb", "a\u2003b", "x" * 257])
def test_names_that_notes_cannot_hold(origin: str) -> None:
    with pytest.raises(ParseError):
        Checkpoint(origin, 0, bytes(32))


def test_times_that_cosignatures_cannot_hold() -> None:
    for unix_s in (-1, 2**63):
        with pytest.raises(ParseError):
            checkpoint.cosign(HEAD.body(), WITNESS, NAME, unix_s)
