"""Ceremonies in a coordinator's directory: nothing is logged before enough keys signed, and no signature is lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from node.disk import files
from node.disk.home import Home
from node.disk.keyring import load_key, load_public
from node.disk.store import Store
from node.founding import ceremony
from node.founding.amending import amend
from node.founding.ceremony import adopt, collect, keep, proposals, propose_root, signable, travelling
from node.founding.errors import FoundingError, ProposalError
from node.founding.founding import found_run, load_founding
from node.founding.layers import Choices
from node.founding.logged import read_logged
from node.founding.proposal import Proposal
from node.founding.revocation import describe_void, signed_since
from node.founding.root_changes import with_coordinator, with_end, with_keys, with_verifiers
from node.founding.root_signing import approve, waiting_manifests, waiting_roots
from node.founding.succession import NEXT, prepare_key, present_key
from protocol.errors import ProtocolError
from protocol.receipt import Tick
from protocol.root import VERIFIER, Root
from tests.node.founding.holders import ADDRESS, HOLDERS, QUICK, STRANGER, found, sign
from tests.node.keys import secret
from verification.state import LogState

A, B, C = HOLDERS
VERA, VICTOR, VIOLA = (secret(number) for number in (11, 12, 13))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A run that is founded and signed by two of three holders, with one verifier."""
    found(tmp_path / "run", [VERA.public])
    home = Home(tmp_path / "run")
    sign(home, tmp_path, A, C)
    return home


def log(home: Home, *more: bytes) -> LogState:
    """What the coordinator would do at its start, and then `more`: the log goes to the store."""
    state = LogState(home.load_ticket().run)
    with Store(home.database) as store:
        for entry in store.iterate_log():
            state.apply(entry)
        waiting = [] if state.size else list(load_founding(home))
        for envelope in waiting:
            state.apply(envelope.encode())
        for find in (waiting_roots, waiting_manifests):
            for envelope in find(home, state):
                state.apply(envelope.encode())
                waiting.append(envelope)
        store.append([*(envelope.encode() for envelope in waiting), *more])
    for entry in more:
        state.apply(entry)
    return state


def test_two_of_three_found_a_run(tmp_path: Path) -> None:
    run = found(tmp_path, [VERA.public])
    home = Home(tmp_path)
    assert not home.key("root").exists()
    (waiting,) = proposals(home)
    assert (waiting.run, waiting.missing) == (run.run, "2 more of the 3 keys of root version 1")
    for key, rest in ((A, "1 more"), (A, "1 more"), (C, "")):
        with pytest.raises(FoundingError, match="not signed yet"):
            load_founding(home)
        assert sign(home, tmp_path, key)[0].missing.startswith(rest)
    assert proposals(home) == []
    state = log(home)
    assert (state.run, state.root.threshold, len(state.root.keys)) == (run.run, 2, 3)


def test_a_run_by_keys_that_cannot_be(tmp_path: Path) -> None:
    a, b = A.public, B.public
    for owners, threshold, why in (([a, a], 2, "twice"), ([a, b], 3, "cannot be 3"), ([], 2, "needs the root's keys")):
        with pytest.raises(FoundingError, match=why):
            found_run(tmp_path, None, [], ADDRESS, QUICK, owners, threshold)
    with pytest.raises(ProtocolError):
        found_run(tmp_path, None, [], ADDRESS, QUICK, [bytes(32)], 1)
    assert not (tmp_path / "ticket").exists()
    assert found_run(tmp_path, None, [], ADDRESS, QUICK, [a, b]).root.threshold == 2


def test_what_lacks_signatures_is_not_logged(home: Home, tmp_path: Path) -> None:
    log(home)
    approve(home, [VICTOR.public], 900, None)
    amend(home, None, Choices((), ("training.learning_rate=0.01",)), None)
    state, said = LogState(home.load_ticket().run), []
    for envelope in load_founding(home):
        state.apply(envelope.encode())
    assert waiting_roots(home, state, said.append) == []
    assert waiting_manifests(home, state, said.append) == []
    assert said == [
        "Root version 2 is not logged: 4 signatures of root keys are missing.",
        "Manifest version 2 is not logged: 2 signatures of root keys are missing.",
    ]
    sign(home, tmp_path, B)
    assert log(home).root.version == 1
    sign(home, tmp_path, C)
    state = log(home)
    assert (state.root.version, state.manifest.version) == (2, 2)
    assert state.manifest.training.learning_rate_micro == 10_000
    assert [role.expires for role in state.root.verifiers][1] == 900
    assert state.root.witness_threshold == 2
    assert proposals(home) == []


def test_root_keys_are_rotated_by_old_and_new(home: Home, tmp_path: Path) -> None:
    log(home)
    propose_root(home, lambda root, _: (with_keys(root, [STRANGER.public], [A.public, B.public], None), root.roles))
    sign(home, tmp_path, A, B)
    assert log(home).root.version == 1
    sign(home, tmp_path, C, STRANGER)
    state = log(home)
    assert state.root.keys == (C.public, STRANGER.public)
    with pytest.raises(ProposalError, match="none of the root's keys"):
        approve(home, [VICTOR.public], None, None).signed(A)
    sign(home, tmp_path, C, STRANGER)
    assert len(log(home).root.verifiers) == 2


def test_signatures_of_a_version_that_is_changed_again_stay_in_its_file(home: Home, tmp_path: Path) -> None:
    log(home)
    first = approve(home, [VICTOR.public], None, None)
    sign(home, tmp_path, A, B)
    told: list[Proposal] = []
    second = approve(home, [VIOLA.public], None, None, told.append)
    assert [each.name for each in told] == [first.name]
    assert len(second.root.verifiers) == 3  # type: ignore[union-attr]
    assert second.signers == ()
    kept = Proposal.parse(travelling(home, first).read_bytes())
    assert (kept.name, set(kept.signers)) == (first.name, {A.public, B.public})
    with pytest.raises(ProposalError, match=f"{first.name} does not wait .* but {second.name}"):
        collect(home, travelling(home, first))


def test_no_second_complete_version_of_a_number_by_mistake(home: Home, tmp_path: Path) -> None:
    """Nodes may have been given the first one: who has the second then follows another coordinator than they do."""
    log(home)
    new = prepare_key(home)
    first = propose_root(home, lambda root, logged: (root, with_coordinator(root.roles, new, logged.size)))
    amend(home, None, Choices((), ("admission.tick_s=9",)), None)
    sign(home, tmp_path, A)
    propose_root(home, lambda root, _: (root, with_verifiers(root.roles, [VICTOR.public])))  # it was not complete
    propose_root(home, lambda root, logged: (root, first.root.roles))  # type: ignore[union-attr]
    sign(home, tmp_path, B)
    before = sorted(path.read_bytes() for path in home.directory.rglob("*") if path.is_file())
    for secret_key in (None, A):
        with pytest.raises(ProposalError, match=f"{first.name} has enough signatures already"):
            approve(home, [VICTOR.public], None, secret_key)
        with pytest.raises(ProposalError, match=r"manifest-2-.* has enough signatures already"):
            amend(home, None, Choices((), ("admission.tick_s=8",)), secret_key)
    assert sorted(path.read_bytes() for path in home.directory.rglob("*") if path.is_file()) == before
    again = propose_root(home, lambda root, logged: (root, root.roles))
    assert (again.name, again.is_complete) == (first.name, True)
    assert log(home).root.version == 2
    assert approve(home, [VICTOR.public], None, None).root.version == 3  # type: ignore[union-attr]


def test_copies_of_another_run_are_refused(home: Home, tmp_path: Path) -> None:
    other = found(tmp_path / "other")
    with pytest.raises(ProposalError, match=f"for run {other.run.hex()[:16]}"):
        collect(home, next((tmp_path / "other" / "to-sign").iterdir()))
    with pytest.raises(ProposalError, match="cannot be read"):
        collect(home, tmp_path / "nowhere")
    (tmp_path / "noise").write_bytes(b"noise")
    with pytest.raises(ProposalError, match="noise: This is not a proposal"):
        collect(home, tmp_path / "noise")


@pytest.mark.parametrize("moment", range(6))
def test_a_kill_between_any_two_steps(moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is renamed into its place; a kill before the rename number `moment` leaves what the same commands finish."""
    home = Home(tmp_path / "run")
    found(home.directory, [VERA.public])
    copy = tmp_path / "copy"
    copy.write_bytes(proposals(home)[0].signed(A).signed(B).encode())
    renames, move = iter(range(100)), files.move_file

    def killed(*arguments: object, **options: object) -> None:
        if next(renames) == moment:
            raise KeyboardInterrupt
        move(*arguments, **options)  # type: ignore[arg-type]

    def steps() -> None:
        if any(proposal.is_founding for proposal in proposals(home)):
            collect(home, copy)
        if (root := ceremony.waiting_root(home)) is None or len(Root.parse(root.payload).verifiers) < 2:
            approve(home, [VICTOR.public], None, None)

    with monkeypatch.context() as patch:
        patch.setattr(files, "move_file", killed)
        try:
            steps()
        except KeyboardInterrupt:
            assert moment < 5
    steps()
    state = log(home)
    assert (state.size, state.root.version) == (2, 1)
    sign(home, tmp_path, B, C)
    assert log(home).root.version == 2


# ---- the coordinator's key


def test_the_coordinators_key_is_replaced(home: Home, tmp_path: Path) -> None:
    old, state = load_key(home.key("coordinator")), log(home)
    assert present_key(home, state.root, state.size) == old
    new = prepare_key(home)
    assert prepare_key(home) == new == load_public(home.key(NEXT))
    propose_root(home, lambda root, logged: (root, with_coordinator(root.roles, new, logged.size + 5)))
    assert present_key(home, log(home).root, 2) == old
    sign(home, tmp_path, A, B)
    state = log(home)
    state.apply(Tick(state.run, 3, 0).seal(old).encode())  # it still counts for a while
    for _ in range(2):
        assert present_key(home, state.root, state.size).public == new
    assert sorted(path.name for path in (home.directory / "keys").iterdir()) == [
        "coordinator",
        f"coordinator-{old.public.hex()[:8]}",
        "host",
    ]
    assert load_key(home.key(f"coordinator-{old.public.hex()[:8]}")) == old


def test_a_kill_while_keys_change_places(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = load_public(home.key("coordinator")), prepare_key(home)
    log(home)
    propose_root(home, lambda root, logged: (root, with_coordinator(root.roles, new, logged.size)))
    sign(home, tmp_path, A, B)
    root = log(home).root

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            present_key(home, root, 3)
    assert load_public(home.key("coordinator")) == old
    assert present_key(home, root, 3).public == new
    assert load_public(home.key(f"coordinator-{old.hex()[:8]}")) == old


def test_a_coordinator_that_is_revoked_does_not_start(home: Home, tmp_path: Path) -> None:
    state = log(home)
    key = load_public(home.key("coordinator"))
    propose_root(home, lambda root, logged: (root, with_end(root.roles, key, logged.size)))
    sign(home, tmp_path, A, B)
    state = log(home)
    with pytest.raises(FoundingError, match="not the run's coordinator any more"):
        present_key(home, state.root, state.size)


# ---- revoking


def test_a_revocation_says_what_it_makes_void(home: Home, tmp_path: Path) -> None:
    state = log(home)
    coordinator = load_key(home.key("coordinator"))
    log(home, *(Tick(state.run, number, 0).seal(coordinator).encode() for number in range(2, 7)))
    assert signed_since(home, coordinator.public, 4) == {"tick": 3}
    proposal = propose_root(home, lambda root, _: (root, with_end(root.roles, coordinator.public, 4)))
    role = proposal.root.find(coordinator.public)  # type: ignore[union-attr]
    assert role is not None
    assert "3 entries from entry 4 on: 3 tick" in describe_void(home, role)[0]
    verifier = replace(role, role=VERIFIER, key=VERA.public)
    assert "0 verdicts" in " ".join(describe_void(home, verifier))


def test_revoked_and_expired_verifiers_are_not_asked_to_cosign(home: Home, tmp_path: Path) -> None:
    log(home)
    approve(home, [VICTOR.public], None, None)
    approve(home, [VIOLA.public], 1, None)  # expired when the next version is made
    propose_root(home, lambda root, logged: (root, with_end(root.roles, VERA.public, 1)))
    sign(home, tmp_path, A, B)
    state = log(home)
    assert state.root.witness_threshold == 1
    assert [role.key for role in state.verifiers()] == [VICTOR.public]
    assert len(state.root.verifiers) == 3
    approve(home, [VICTOR.public], 5000, None)
    with pytest.raises(ProposalError, match="has a role already"):
        approve(home, [VERA.public], 5000, None)
    for key, why in ((VERA.public, "revoked from entry 1 on already"), (STRANGER.public, "has no role")):
        with pytest.raises(ProposalError, match=why):
            with_end(state.root.roles, key, 2)


def test_another_node_takes_a_complete_root_only(home: Home, tmp_path: Path) -> None:
    log(home)
    proposal = approve(home, [VICTOR.public], None, None)
    verifier = Home(tmp_path / "verifier")
    verifier.store_ticket(home.load_ticket())
    with pytest.raises(ProposalError, match="enough keys signed"):
        adopt(verifier, travelling(home, proposal))
    (*_, complete) = sign(home, tmp_path, A, B)
    assert adopt(verifier, travelling(home, complete)) == complete
    kept = ceremony.waiting_root(verifier)
    assert kept == complete.asked[0]


# ---- changes that cannot be


def test_changes_that_cannot_be(home: Home) -> None:
    root = read_logged(home).root
    for added, dropped, threshold, why in (
        ([A.public], [], None, "a key of this run already"),
        ([VERA.public], [], None, "a key of this run already"),
        ([], [STRANGER.public], None, "not one of the root's keys"),
        ([], [A.public, B.public], None, "cannot be 2"),
        ([], [], 4, "cannot be 4"),
    ):
        with pytest.raises(ProposalError, match=why):
            with_keys(root, added, dropped, threshold)
    with pytest.raises(ProposalError, match="has a role already"):
        with_coordinator(root.roles, VERA.public, 5)
    assert len(with_verifiers(root.roles, [VICTOR.public])) == 3


def test_an_amendment_that_cannot_be(home: Home, tmp_path: Path) -> None:
    log(home)
    for settings, why in (
        ((), "Nothing is to be changed"),
        (("name=run",), "would say what it says now"),
        (("network.blocks=9",), "gonode coordinate --grow"),
        (("rules.ko=simple",), "rules of a run stay"),
        (("admission.games_per_batch=3",), "size of a batch stays"),
        (("gate.kind=sprt", "gate.games=4"), "can never pass"),
    ):
        with pytest.raises(FoundingError, match=why):
            amend(home, None, Choices((), settings), None)
    assert proposals(home) == []


def test_an_amendment_adds_to_the_one_that_waits(home: Home, tmp_path: Path) -> None:
    log(home)
    amend(home, None, Choices((), ("training.learning_rate=0.01",)), None)
    file = tmp_path / "more.toml"
    file.write_text("[admission]\ntick_s = 7\n")
    found = amend(home, file, Choices(), None)
    assert found.manifest is not None
    assert (found.manifest.version, found.manifest.admission.tick_s) == (2, 7)
    assert found.manifest.training.learning_rate_micro == 10_000


def test_the_key_in_the_directory_signs_what_waits(tmp_path: Path) -> None:
    found_run(tmp_path, None, [], ADDRESS, QUICK)
    home = Home(tmp_path)
    with pytest.raises(ProposalError, match="nothing waits"):
        signable(home, load_key(home.key("root")))
    approve(home, [VICTOR.public], None, None)
    (waiting,) = signable(home, load_key(home.key("root")))
    signed = keep(home, waiting.signed(load_key(home.key("root"))))
    assert signed.is_complete
    assert log(home).root.version == 2


def test_the_same_question_again_keeps_its_signatures(home: Home, tmp_path: Path) -> None:
    log(home)

    def ask() -> Proposal:
        return propose_root(home, lambda root, _: (with_keys(root, [], [], 1), root.roles))

    first = ask()
    sign(home, tmp_path, A)
    assert ask().signers == first.signed(A).signers == (A.public,)


def test_what_is_signed_in_its_place_is_collected_with_the_rest(home: Home, tmp_path: Path) -> None:
    log(home)
    proposal = approve(home, [VICTOR.public], None, None)
    file = travelling(home, proposal)
    file.write_bytes(proposal.signed(A).encode())
    (done,) = sign(home, tmp_path, B)
    assert (set(done.signers), done.is_complete) == ({A.public, B.public}, True)
    file.write_bytes(b"damaged")
    with pytest.raises(ProposalError, match=f"{file}: This is not a proposal"):
        collect(home, file)
    assert waiting_roots(home, log(home)) == []  # it was complete, and is logged
