"""Proposals: what a file may ask for, whose signatures count, and how copies are put together."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node.founding.errors import ProposalError
from node.founding.proposal import Proposal
from node.founding.proposal_text import describe_proposal, manifest_changes
from protocol import codec
from protocol.manifest import Manifest, Opening, RatePoint
from protocol.openings import two_move_openings
from protocol.root import COORDINATOR, VERIFIER, Role, Root
from protocol.types import UNSET, ZERO
from tests.node.founding.holders import HOLDERS, STRANGER
from tests.node.keys import secret
from tests.verification.manifests import small_manifest

A, B, C = HOLDERS
PEN, VERA = secret(1), secret(2)
ROLES = (Role(COORDINATOR, PEN.public, "pen"), Role(VERIFIER, VERA.public, "vera"))
ROOT = Root(ZERO, 1, 2, tuple(key.public for key in HOLDERS), ROLES, 1)
MANIFEST = small_manifest()
FOUNDING = Proposal((), (), (ROOT.seal(), MANIFEST.seal()))
RUN = FOUNDING.run
SIGNED = FOUNDING.signed(A).signed(B).asked
SECOND = replace(ROOT, run=RUN, version=2, keys=(B.public, C.public, STRANGER.public))


def later(record: Root | Manifest) -> Proposal:
    """What asks for a record after version 1 of both."""
    return Proposal(SIGNED[:1], SIGNED[1:], (record.seal(),), 500)


def test_a_new_run_gathers_signatures() -> None:
    assert (FOUNDING.is_founding, FOUNDING.is_complete) == (True, False)
    assert FOUNDING.missing == "2 more of the 3 keys of root version 1"
    one = Proposal.parse(FOUNDING.signed(C).encode())
    assert (one.signers, one.missing) == ((C.public,), "1 more of the 3 keys of root version 1")
    assert one.signed(C) == one
    both = one.merged(FOUNDING.signed(A))
    assert both == FOUNDING.signed(A).merged(one) == one.signed(A)
    assert both.is_complete
    assert Proposal.parse(both.encode()) == both
    for record, envelope in zip((ROOT, MANIFEST), both.asked, strict=True):
        assert type(record).open(envelope) == record
        assert len(envelope.signers) == 2


def test_a_root_version_needs_the_old_and_the_new_threshold() -> None:
    asked = later(SECOND)
    assert asked.name == f"root-2-{SECOND.digest().hex()[:8]}"
    assert asked.keys == (A.public, B.public, C.public, STRANGER.public)
    assert "root version 1 and 2 more of the 3 keys of root version 2" in asked.missing
    assert asked.signed(A).signed(B).missing == "1 more of the 3 keys of root version 2"
    assert asked.signed(STRANGER).signed(B).missing == "1 more of the 3 keys of root version 1"
    assert asked.signed(B).signed(C).is_complete


def test_a_manifest_version_needs_the_threshold_in_force() -> None:
    second = replace(MANIFEST, run=RUN, version=2, name="again")
    asked = later(second)
    assert asked.signed(A).signed(C).is_complete
    with pytest.raises(ProposalError, match="none of the root's keys"):
        asked.signed(STRANGER)
    chained = Proposal(SIGNED[:1], (SIGNED[1], *asked.signed(A).signed(C).asked), (SECOND.seal(),))
    assert chained.manifest_before == second


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ((replace(ROOT, version=3, run=RUN).seal(),), "version 2 of this run's root"),
        ((replace(ROOT, version=2, run=bytes(31) + b"x").seal(),), "version 2 of this run's root"),
        ((replace(MANIFEST, version=3, run=RUN).seal(),), "version 2 of this run's manifest"),
        ((SECOND.seal(secret(7)),), "not the root's"),
        ((SECOND.seal(), SECOND.seal()), "neither a root nor a manifest"),
        ((), "neither a root nor a manifest"),
    ],
)
def test_what_cannot_be_asked(asked: tuple[object, ...], why: str) -> None:
    with pytest.raises(ProposalError, match=why):
        Proposal(SIGNED[:1], SIGNED[1:], asked)  # type: ignore[arg-type]


def test_what_is_before_it_is_checked() -> None:
    unsigned = FOUNDING.signed(A).asked
    for roots, manifests in (
        (unsigned[:1], SIGNED[1:]),
        (SIGNED[:1], unsigned[1:]),
        (SIGNED[:1], ()),
        ((), SIGNED[1:]),
    ):
        with pytest.raises(ProposalError, match="does not hold"):
            Proposal(roots, manifests, (SECOND.seal(),))
    third = replace(SECOND, version=3)
    unchained = SECOND.seal(A, B)  # the new threshold lacks one
    with pytest.raises(ProposalError, match="1 of the root's keys"):
        Proposal((*SIGNED[:1], unchained), SIGNED[1:], (third.seal(),))
    assert Proposal((*SIGNED[:1], SECOND.seal(B, C)), SIGNED[1:], (third.seal(),)).before == SECOND


def test_a_signature_that_does_not_hold_is_refused() -> None:
    good, other = FOUNDING.signed(A), later(SECOND).signed(A)
    false = replace(good.asked[0], signatures=other.asked[0].signatures)
    with pytest.raises(ProposalError, match="does not hold"):
        Proposal((), (), (false, good.asked[1]))


def test_copies_of_different_proposals_are_not_put_together() -> None:
    with pytest.raises(ProposalError, match="not the same"):
        later(SECOND).merged(later(replace(SECOND, threshold=1)))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(later(SECOND).signed(A).encode()) - 1), st.binary(max_size=3), st.integers(0, 3))
def test_hostile_files_give_one_sentence(at: int, new: bytes, old: int) -> None:
    data = later(SECOND).signed(A).encode()
    changed = data[:at] + new + data[at + old :]
    try:
        found = Proposal.parse(changed)
    except ProposalError:
        return
    assert found.encode() == changed


def test_noise_is_no_proposal(tmp_path: Path) -> None:
    for data in (b"", b"x", codec.encode({}), codec.encode({"asked": [], "log_size": 0, "manifests": [], "roots": []})):
        with pytest.raises(ProposalError):
            Proposal.parse(data)
    with pytest.raises(ProposalError):
        Proposal.parse(codec.encode({"asked": [1], "log_size": True, "manifests": [], "roots": []}))


def test_it_is_said_in_words() -> None:
    text = "\n".join(describe_proposal(FOUNDING.signed(A)))
    for part in (RUN.hex(), *(key.public.hex() for key in HOLDERS), PEN.public.hex(), "7x7", "Missing: 1 more"):
        assert part in text
    assert text.count("not yet") == 2
    ended = (replace(ROLES[0], invalid_from=400), replace(ROLES[1], expires=900), Role(COORDINATOR, C.public, "new"))
    text = "\n".join(describe_proposal(later(replace(SECOND, roles=ended, threshold=1))))
    assert f"new root key {STRANGER.public.hex()}" in text
    assert f"root key {A.public.hex()} can sign nothing any more" in text
    assert "to be destroyed with all copies once this is logged: whoever has 2 of the keys of version 1" in text
    assert "1 of 3 root keys have to sign (were 2 of 3)" in text
    assert "revoked from entry 400 on; what it logged stays" in text
    assert "expires at entry 900" in text
    assert "The log had 500 entries then, as the proposer says." in text
    assert f"new coordinator {C.public.hex()}" in text
    assert "when fewer than 1 of these 3 root keys are left" in text
    assert "when the new coordinator's key is lost" in text
    text = "\n".join(describe_proposal(later(replace(SECOND, keys=(*ROOT.keys, STRANGER.public)))))
    assert "destroyed" not in text  # no key goes
    lonely = replace(SECOND, roles=(replace(ROLES[0], invalid_from=1), replace(ROLES[1], invalid_from=UNSET - 1)))
    text = "\n".join(describe_proposal(later(lonely)))
    assert "NO COORDINATOR IS LEFT" in text
    assert "NO VERIFIER IS LEFT" in text
    slower = replace(MANIFEST.training, learning_rate_micro=10_000)
    text = "\n".join(describe_proposal(later(replace(MANIFEST, run=RUN, version=2, training=slower))))
    assert "training.learning_rate: 0.02 -> 0.01" in text


# ---- what a false version before it cannot hide


def after_first(text: list[str]) -> list[str]:
    """The lines about what differs from manifest version 1."""
    return text[next(number for number, line in enumerate(text) if "which the run id fixes" in line) :]


def test_a_manifest_that_was_never_logged_hides_no_change() -> None:
    """Its bad change was signed once and never logged; what comes after it seems to change a name alone."""
    admission = replace(MANIFEST.admission, hold_back_batches=0)
    never = replace(MANIFEST, run=RUN, version=7, admission=admission)
    asked = replace(never, version=8, name="again")
    proposal = Proposal(SIGNED[:1], (SIGNED[1], never.seal(A, B)), (asked.seal(),), 500)
    text = describe_proposal(Proposal.parse(proposal.encode()))
    assert text[2:4] == [
        f"Manifest version 8, SHA-256 {asked.digest().hex()}, after version 7:",
        '  name: "world" -> "again"',
    ]
    assert text[4].startswith(f"Manifest version 7, SHA-256 {never.digest().hex()}, is the proposer's claim")
    whole = after_first(text)
    assert '  name: "world" -> "again"' in whole
    assert f"  admission.hold_back_batches: {MANIFEST.admission.hold_back_batches} -> 0" in whole


def test_a_root_that_was_never_logged_hides_no_change() -> None:
    evil = Role(VERIFIER, secret(66).public, "evil")
    never = replace(SECOND, roles=(*ROLES, evil), witness_threshold=2)
    asked = replace(never, version=3, threshold=1)
    proposal = Proposal((SIGNED[0], never.seal(B, C)), SIGNED[1:], (asked.seal(),), 500)
    text = describe_proposal(proposal)
    assert f"Root version 2, SHA-256 {never.digest().hex()}, is the proposer's claim" in "\n".join(text)
    whole = text[text.index("All that root version 3 says:") :]
    assert f"  verifier {evil.key.hex()} (evil)" in whole


def test_what_the_run_id_fixes_is_nobodys_claim() -> None:
    for record in (SECOND, replace(MANIFEST, run=RUN, version=2, name="again")):
        assert "claim" not in "\n".join(describe_proposal(later(record)))


def test_a_change_is_said_whole_however_long() -> None:
    schedule = tuple(RatePoint(1000 * step, 10**6) for step in range(1, 40))
    before = replace(MANIFEST, training=replace(MANIFEST.training, schedule=schedule))
    after = replace(MANIFEST, training=replace(before.training, schedule=(*schedule, RatePoint(77_777, 10**7))))
    (line,) = manifest_changes(before, after)
    assert len(line) > 1000
    assert "step = 77777, factor = 10 }]" in line


def test_openings_are_said_by_their_digest() -> None:
    before = replace(MANIFEST, openings=(Opening(7, (24,), 1, 1),))
    after = replace(MANIFEST, openings=(Opening(7, (25,), 1, 1),))
    (line,) = manifest_changes(before, after)
    for manifest in (before, after):
        assert f"neither empty nor two-moves (1, SHA-256 {manifest.openings_digest().hex()})" in line
    named = replace(MANIFEST, openings=(Opening(7, (), 1, 0), *two_move_openings(7)))
    assert "two-moves (" in manifest_changes(before, named)[0]
    assert "empty (0, " in manifest_changes(before, replace(MANIFEST, openings=()))[0]
