"""Founding a run: its id certifies root and manifest, its parts survive, and nothing is written when something is wrong."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from node.disk.home import Home
from node.disk.keyring import create_key, load_key
from node.founding.founding import FoundingError, describe, found_run, load_founding
from node.founding.listening import ListenError
from node.founding.manifest_file import ManifestFileError
from protocol.envelope import Envelope
from protocol.errors import BadKey
from protocol.manifest import Manifest
from protocol.root import COORDINATOR, VERIFIER, Root
from protocol.seeds import run_id
from protocol.ticket import Ticket
from tests.node.keys import secret
from verification.faults import LogFault
from verification.state import LogState

ADDRESS = "/ip4/127.0.0.1/tcp/4001"
KEYS = [secret(number).public for number in range(5)]


def apply(run: bytes, envelopes: Sequence[Envelope]) -> LogState:
    state = LogState(run)
    for envelope in envelopes:
        state.apply(envelope.encode())
    return state


def test_root_and_manifest_begin_the_log(tmp_path: Path) -> None:
    made = found_run(tmp_path, Path("runs/demo.toml"), KEYS[:1], ADDRESS)
    home = Home(tmp_path)
    envelopes = load_founding(home)
    assert envelopes == made.envelopes
    state = apply(made.run, envelopes)
    assert (state.size, state.run) == (2, made.run)
    assert state.manifest.name == "demo7"
    assert state.release.number == 0
    assert state.root.find(load_key(home.key("coordinator")).public).role == COORDINATOR  # type: ignore[union-attr]
    assert [role.key for role in state.root.verifiers] == KEYS[:1]
    assert state.root.keys == (load_key(home.key("root")).public,)


def test_the_run_id_is_that_of_its_parts(tmp_path: Path) -> None:
    made = found_run(tmp_path, None, [], ADDRESS)
    root, manifest = load_founding(Home(tmp_path))
    assert made.run == run_id(root.payload, manifest.payload)
    assert made.ticket.run == made.run
    assert made.ticket.root_digest == made.root.digest() == Root.parse(root.payload).digest()
    assert Home(tmp_path).load_ticket() == made.ticket == Ticket.parse(made.ticket.encode())


def test_the_same_keys_and_file_make_the_same_run(tmp_path: Path) -> None:
    runs = set()
    for name in "ab":
        home = Home(tmp_path / name)
        for number, key in enumerate(("root", "coordinator", "host")):
            create_key(home.key(key), secret(10 + number))
        runs.add(found_run(home.directory, Path("runs/demo.toml"), KEYS[:2], ADDRESS).run)
    assert len(runs) == 1
    assert found_run(tmp_path / "c", Path("runs/demo.toml"), KEYS[:2], ADDRESS).run not in runs


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_more_than_half_of_the_verifiers_cosign(count: int, threshold: int, tmp_path: Path) -> None:
    made = found_run(tmp_path, None, KEYS[:count], ADDRESS)
    assert made.root.witness_threshold == threshold
    assert sum(role.role == VERIFIER for role in made.root.roles) == count
    apply(made.run, made.envelopes)


def test_another_root_or_manifest_does_not_begin_the_log(tmp_path: Path) -> None:
    made = found_run(tmp_path, None, KEYS[:1], ADDRESS)
    key = load_key(Home(tmp_path).key("root"))
    root, manifest = made.envelopes
    other = replace(made.manifest, name="other")
    for wrong in (
        (root, other.seal(key)),
        (replace(made.root, roles=made.root.roles[:1]).seal(key), manifest),
        (made.root.seal(secret(9)), manifest),
        (root, made.manifest.seal(secret(9))),
        (manifest, root),
    ):
        with pytest.raises(LogFault):
            apply(made.run, wrong)


def test_a_run_that_is_there_stays(tmp_path: Path) -> None:
    made = found_run(tmp_path, None, [], ADDRESS)
    with pytest.raises(FoundingError, match="already"):
        found_run(tmp_path, Path("runs/demo.toml"), [], ADDRESS)
    assert Home(tmp_path).load_ticket() == made.ticket


def test_founding_that_was_killed_goes_on(tmp_path: Path) -> None:
    """The ticket comes last; without it the run is made again with the keys that are there."""
    made = found_run(tmp_path, None, KEYS[:1], ADDRESS)
    Home(tmp_path).ticket.unlink()
    assert found_run(tmp_path, None, KEYS[:1], ADDRESS).run == made.run


@pytest.mark.parametrize("address", ["", "x", "/ip4/1.2.3.4/udp/1", "/ip4/1.2.3.4/tcp/1/p2p/x", "/ip4/1.2.3/tcp/1"])
def test_nothing_is_written_for_a_wrong_address(address: str, tmp_path: Path) -> None:
    with pytest.raises(ListenError):
        found_run(tmp_path / "run", None, [], address)
    assert not (tmp_path / "run").exists()


def test_nothing_is_written_for_a_wrong_file_or_key(tmp_path: Path) -> None:
    with pytest.raises(ManifestFileError):
        found_run(tmp_path / "run", tmp_path / "none.toml", [], ADDRESS)
    with pytest.raises(BadKey):
        found_run(tmp_path / "run", None, [bytes(32)], ADDRESS)
    with pytest.raises(FoundingError, match="twice"):
        found_run(tmp_path / "run", None, KEYS[:1] * 2, ADDRESS)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("games", "is_enough"), [(32, False), (34, True)])
def test_a_gate_that_can_never_pass_founds_no_run(games: int, is_enough: bool, tmp_path: Path) -> None:
    """All pairs won pass the bounds (0, 50) after 17 pairs: docs/spec/gate.md."""
    file = tmp_path / "run.toml"
    file.write_text(f"[gate]\nelo1 = 50\ngames = {games}\n", encoding="utf-8")
    if is_enough:
        assert found_run(tmp_path / "run", file, [], ADDRESS).manifest.gate.games == games
        return
    with pytest.raises(FoundingError, match="can never pass: it refuses even a candidate that wins all 32 games"):
        found_run(tmp_path / "run", file, [], ADDRESS)
    assert not (tmp_path / "run").exists()


def test_a_description_says_who_must_cosign_and_what_the_gate_does(tmp_path: Path) -> None:
    made = found_run(tmp_path, None, KEYS[:3], ADDRESS)
    text = describe(replace(made, manifest=_with_gate(made.manifest, games=20)), tmp_path)
    assert made.run.hex() in text
    assert "Verifiers: 3, of whom 2 must cosign." in text
    assert f"move {tmp_path / 'keys' / 'root'} to offline storage" in text
    assert "+200 Elo: passes" in text
    assert "not simulated" in describe(replace(made, manifest=_with_gate(made.manifest, games=1_000_000)), tmp_path)


def test_without_a_verifier_it_says_what_is_needed(tmp_path: Path) -> None:
    text = describe(found_run(tmp_path, None, [], ADDRESS), tmp_path)
    assert f"Verifiers: none. Nothing counts until one is approved: gonode root sign {tmp_path} --verifier KEY" in text
    assert "of whom" not in text


def _with_gate(manifest: Manifest, games: int) -> Manifest:
    return replace(manifest, gate=replace(manifest.gate, games=games))
