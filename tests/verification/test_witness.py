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
from verification.witness import verify_all_lines, verify_head, witness_name

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
    assert verify_head(head(9, a, c), RUN, ROOT).size == 9
    assert verify_head(head(9, a, b, c), RUN, ROOT).size == 9
    with pytest.raises(WrongSigner, match="cosigned by 1 verifier; 2 have to"):
        verify_head(head(9, b), RUN, ROOT)
    with pytest.raises(WrongSigner, match="not signed by"):
        verify_head(head(9, a, b, by=a), RUN, ROOT)
    with pytest.raises(WrongSigner):
        verify_head(head(9, a, b, run=digest_of("other")), RUN, ROOT)


def test_a_cosignature_that_does_not_hold_spoils_the_head() -> None:
    a, b, _ = VERIFIER_KEYS
    lines = head(10, a, b).signatures[1:]
    with pytest.raises(BadSignature):
        verify_head(head(9).with_signatures(lines), RUN, ROOT)


@pytest.mark.parametrize("field", ["expires", "invalid_from"])
def test_who_has_lost_its_role_no_longer_counts(field: str) -> None:
    a, b, c = VERIFIER_KEYS
    lost = with_role(2, **{field: 20})
    assert verify_head(head(20, a, b), RUN, lost).size == 20
    with pytest.raises(WrongSigner, match="cosigned by 1"):
        verify_head(head(21, a, b), RUN, lost)
    assert verify_head(head(21, a, b, c), RUN, lost).size == 21
    with pytest.raises(WrongSigner, match="no coordinator"):
        verify_head(head(21, a, b, c), RUN, with_role(0, **{field: 20}))


def test_an_audited_head_carries_known_lines_only() -> None:
    a, b, _ = VERIFIER_KEYS
    verify_all_lines(head(9, a, b), RUN, ROOT)
    stranger = SecretKey(digest_of("stranger"))
    with pytest.raises(BadSignature, match="unknown key"):
        verify_all_lines(head(9, a, b, stranger), RUN, ROOT)
