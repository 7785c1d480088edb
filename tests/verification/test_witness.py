"""Heads: whose signatures make one believed, and for how long."""

from dataclasses import replace

import pytest

from protocol import checkpoint as notes
from protocol.checkpoint import Checkpoint, SignedNote
from protocol.ed25519 import SecretKey
from protocol.errors import BadSignature, WrongSigner
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.seeds import log_origin
from protocol.types import ZERO
from tests.verification.manifests import digest_of
from verification.faults import LogFault
from verification.root_versions import RootVersions
from verification.witness import is_cosigned, verify_all_lines, verify_head, witness_name, witnesses

RUN = digest_of("run")
COORDINATOR_KEY, *VERIFIER_KEYS = (SecretKey(digest_of(name)) for name in ("coordinator", "a", "b", "c"))
ROOT = Root(
    run=ZERO,
    version=1,
    threshold=1,
    keys=(digest_of("root"),),
    roles=(
        Role(COORDINATOR, COORDINATOR_KEY.public, "coordinator"),
        *(Role(VERIFIER, key.public, f"verifier-{n}") for n, key in enumerate(VERIFIER_KEYS)),
    ),
    witness_threshold=2,
)
ROOTS = RootVersions(((0, ROOT),))


def head(size: int, *witnesses: SecretKey, by: SecretKey = COORDINATOR_KEY, run: bytes = RUN) -> SignedNote:
    """A head of `size` entries as the log `by` signs it and these witnesses cosign it."""
    found = Checkpoint(log_origin(run), size, digest_of(f"tree {size}"))
    lines = [notes.cosign(found.body(), key, witness_name(key.public), 1_700_000_000) for key in witnesses]
    return found.sign(by).with_signatures(lines)


def with_role(number: int, **changes: int) -> Root:
    """The root with one of its roles changed."""
    roles = list(ROOT.roles)
    roles[number] = replace(roles[number], **changes)  # type: ignore[arg-type]
    return replace(ROOT, roles=tuple(roles))


def test_a_head_needs_the_coordinator_and_enough_witnesses() -> None:
    a, b, c = VERIFIER_KEYS
    assert verify_head(head(9, a, c), RUN, ROOTS).size == 9
    assert verify_head(head(9, a, b, c), RUN, ROOTS).size == 9
    with pytest.raises(WrongSigner, match="cosigned by 1 verifier; 2 have to"):
        verify_head(head(9, b), RUN, ROOTS)
    with pytest.raises(WrongSigner, match="not signed by"):
        verify_head(head(9, a, b, by=a), RUN, ROOTS)
    with pytest.raises(WrongSigner):
        verify_head(head(9, a, b, run=digest_of("other")), RUN, ROOTS)


def test_a_cosignature_that_does_not_hold_spoils_the_head() -> None:
    a, b, _ = VERIFIER_KEYS
    lines = head(10, a, b).signatures[1:]
    with pytest.raises(BadSignature):
        verify_head(head(9).with_signatures(lines), RUN, ROOTS)


@pytest.mark.parametrize("field", ["expires", "invalid_from"])
def test_who_has_lost_its_role_no_longer_counts(field: str) -> None:
    a, b, c = VERIFIER_KEYS
    lost = RootVersions(((0, with_role(2, **{field: 20})),))
    assert verify_head(head(20, a, b), RUN, lost).size == 20
    with pytest.raises(WrongSigner, match="cosigned by 1"):
        verify_head(head(21, a, b), RUN, lost)
    assert verify_head(head(21, a, b, c), RUN, lost).size == 21
    with pytest.raises(WrongSigner, match="no coordinator"):
        verify_head(head(21, a, b, c), RUN, RootVersions(((0, with_role(0, **{field: 20})),)))


def test_an_audited_head_carries_known_lines_only() -> None:
    a, b, _ = VERIFIER_KEYS
    verify_all_lines(head(9, a, b), RUN, ROOT)
    stranger = SecretKey(digest_of("stranger"))
    with pytest.raises(BadSignature, match="unknown key"):
        verify_all_lines(head(9, a, b, stranger), RUN, ROOT)


def test_a_head_is_judged_by_the_root_version_below_it() -> None:
    a, b, c = VERIFIER_KEYS
    late = SecretKey(digest_of("late"))
    second = replace(
        ROOT, run=RUN, version=2, witness_threshold=3, roles=(*ROOT.roles, Role(VERIFIER, late.public, "late"))
    )
    roots = ROOTS.followed_by(10, second)
    assert verify_head(head(10, a, b), RUN, roots).size == 10
    with pytest.raises(WrongSigner, match="cosigned by 2 verifiers; 3 have to"):
        verify_head(head(11, a, b), RUN, roots)
    assert verify_head(head(11, a, b, late), RUN, roots).size == 11
    with pytest.raises(WrongSigner, match="cosigned by 1 verifier; 2 have to"):
        verify_head(head(10, a, late), RUN, roots)
    assert witnesses(roots, 10) == {a.public, b.public, c.public}


@pytest.mark.parametrize("field", ["expires", "invalid_from"])
def test_a_key_that_a_later_version_ended_counts_no_more_from_its_end_on(field: str) -> None:
    a, b, c = VERIFIER_KEYS
    revoked = ROOTS.followed_by(30, replace(with_role(1, **{field: 20}), run=RUN, version=2))
    assert verify_head(head(20, a, b), RUN, revoked).size == 20
    with pytest.raises(WrongSigner, match="cosigned by 1 verifier; 2 have to"):
        verify_head(head(21, a, b), RUN, revoked)
    assert verify_head(head(21, a, b, c), RUN, revoked).size == 21
    replaced = ROOTS.followed_by(30, replace(with_role(0, **{field: 20}), run=RUN, version=2))
    assert verify_head(head(20, a, b), RUN, replaced).size == 20
    with pytest.raises(WrongSigner, match="no coordinator"):
        verify_head(head(21, a, b), RUN, replaced)


def test_a_role_that_is_given_later_counts_for_no_head_before() -> None:
    a, b, _ = VERIFIER_KEYS
    new = SecretKey(digest_of("new"))
    roots = ROOTS.followed_by(
        30, replace(ROOT, run=RUN, version=2, roles=(*ROOT.roles, Role(COORDINATOR, new.public, "n")))
    )
    with pytest.raises(WrongSigner, match="not signed by"):
        verify_head(head(30, a, b, by=new), RUN, roots)
    assert verify_head(head(31, a, b, by=new), RUN, roots).size == 31


def test_lines_that_are_known_to_hold_are_counted_alike() -> None:
    a, b, _ = VERIFIER_KEYS
    stranger = SecretKey(digest_of("stranger"))
    for note in (
        head(9),
        head(9, a),
        head(9, a, stranger),
        head(9, a, b),
        head(9, a, b, by=a),
        head(9, a, b, run=a.public),
    ):
        assert is_cosigned(note, RUN, ROOTS) == is_cosigned(note, RUN, ROOTS, is_verified=True)
    assert is_cosigned(head(9, a, b), RUN, ROOTS, is_verified=True)
    forged = head(9).with_signatures(head(10, a, b).signatures[1:])
    assert is_cosigned(forged, RUN, ROOTS, is_verified=True)
    assert not is_cosigned(forged, RUN, ROOTS)


def test_a_witness_counts_once() -> None:
    a, *_ = VERIFIER_KEYS
    note = head(9, a)
    again = notes.cosign(note.text, a, witness_name(a.public), 1_700_000_001)
    for is_verified in (False, True):
        assert not is_cosigned(note.with_signatures([again]), RUN, ROOTS, is_verified=is_verified)
        with pytest.raises(BadSignature, match="more than once"):
            verify_head(note.with_signatures([again]), RUN, ROOTS, is_verified=is_verified)


@pytest.mark.parametrize("threshold", [0, 1])
def test_nothing_is_cosigned_without_verifiers(threshold: int) -> None:
    alone = RootVersions(((0, replace(ROOT, roles=ROOT.roles[:1], witness_threshold=threshold)),))
    assert not is_cosigned(head(9), RUN, alone)
    assert not is_cosigned(head(9, *VERIFIER_KEYS), RUN, alone)


def test_a_log_that_has_not_begun_has_no_cosigned_head() -> None:
    assert not is_cosigned(head(9, *VERIFIER_KEYS), RUN, RootVersions())
    with pytest.raises(LogFault, match="no root yet"):
        verify_head(head(9, *VERIFIER_KEYS), RUN, RootVersions())
