"""The ceremonies of docs/ceremonies.md with the real commands: founding by two of three holders, and every later change."""

import json
from pathlib import Path

import pytest

from node.cli import root as root_commands
from node.disk.home import Home
from node.disk.keyring import load_key, load_public
from node.disk.store import Store
from node.founding.ceremony import proposals
from node.founding.founding import load_founding
from node.founding.root_signing import waiting_manifests, waiting_roots
from node.founding.succession import present_key
from tests.node.cli.gonode import Answer, gonode
from tests.node.keys import secret
from verification.state import LogState

VERA, VICTOR, VIOLA = (secret(number).public.hex() for number in (1, 2, 3))

QUICK = ("--preset", "7x7", "--preset", "no-gates")
"""A run whose gate has no power to be simulated."""


class Ceremony:
    """Three holders with a key file each, and the coordinator's directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run = folder / "run"
        self.home = Home(self.run)
        self.keys: dict[str, str] = {}
        for name in "abc":
            self.add(name)

    def add(self, name: str) -> str:
        """A new holder's public key."""
        made = gonode("root", "init", self.folder / name)
        assert made.status == 0
        assert "keep this file offline" in made.err
        self.keys[name] = made.out.strip()
        return self.keys[name]

    def do(self, *arguments: object) -> Answer:
        """A command that succeeds."""
        answer = gonode(*arguments)
        assert answer.status == 0, answer
        return answer

    def sign(self, names: str) -> list[Answer]:
        """Each holder signs a copy of all that waits, which is then brought back."""
        copies = []
        for number, name in enumerate(names):
            for proposal in proposals(self.home):
                if bytes.fromhex(self.keys[name]) not in proposal.keys:
                    continue
                copy = self.folder / f"copy-{number}-{proposal.name}"
                copy.write_bytes((self.run / "to-sign" / proposal.name).read_bytes())
                signed = self.do("root", "sign", copy, "--key", self.folder / name, "--yes")
                assert self.keys[name] in signed.out
                assert "Root keys that may sign" in signed.err
                copies.append(copy)
        return [self.do("root", "collect", self.run, copy) for copy in copies]

    def start(self) -> LogState:
        """What the coordinator logs at its start."""
        state = LogState(self.home.load_ticket().run)
        with Store(self.home.database) as store:
            for entry in store.iterate_log():
                state.apply(entry)
            new = [] if state.size else list(load_founding(self.home))
            for envelope in new:
                state.apply(envelope.encode())
            for find in (waiting_roots, waiting_manifests):
                for envelope in find(self.home, state):
                    state.apply(envelope.encode())
                    new.append(envelope)
            store.append([envelope.encode() for envelope in new])
        return state


@pytest.fixture
def ceremony(tmp_path: Path) -> Ceremony:
    found = Ceremony(tmp_path)
    owners = [part for name in "abc" for part in ("--root-key", found.keys[name])]
    made = found.do("run", "init", found.run, *QUICK, "--verifier", VERA, *owners, "--threshold", 2)
    assert made.out.startswith("gonode1")
    assert "2 of whom" not in made.out
    assert "Not signed yet: 2 more of the 3 keys" in made.err
    return found


def test_a_run_from_its_founding_to_its_last_change(ceremony: Ceremony) -> None:
    folder, run = ceremony.folder, ceremony.run
    assert "is not signed yet" in gonode("coordinate", run).refusal()
    first = ceremony.sign("a")[-1]
    assert "1 more of the 3 keys" in first.out
    assert "enough keys have signed" in ceremony.sign("c")[-1].out
    assert ceremony.start().root.version == 1

    # a verifier, for some time
    approved = ceremony.do("root", "sign", run, "--verifier", VICTOR, "--expires", 900)
    assert approved.out == "Root version 2: 2 verifiers, of whom 2 must cosign.\n"
    ceremony.sign("ab")
    assert ceremony.start().root.verifiers[1].expires == 900

    # other holders
    new = ceremony.add("d")
    rotated = ceremony.do("root", "rotate", run, "--root-key", new, "--drop", ceremony.keys["a"])
    assert f"new root key {new}" in rotated.out
    ceremony.sign("ab")
    assert ceremony.start().root.version == 2  # the new threshold lacks one
    ceremony.sign("d")
    assert ceremony.start().root.version == 3

    # the coordinator's key
    old = load_public(ceremony.home.key("coordinator")).hex()
    ceremony.do("root", "rotate", run, "--coordinator", "new")
    ceremony.sign("bd")
    state = ceremony.start()
    assert present_key(ceremony.home, state.root, state.size).public.hex() != old
    shown = ceremony.do("keys", "show", run)
    assert old in next(line for line in shown.out.splitlines() if f"coordinator-{old[:8]}" in line)

    # a verifier's key
    revoked = ceremony.do("root", "revoke", run, VERA, "--from", 1)
    assert "0 verdicts of these are judged anew" in revoked.out
    ceremony.sign("bc")
    state = ceremony.start()
    assert [role.key.hex() for role in state.verifiers()] == [VICTOR]
    assert state.root.witness_threshold == 1

    # the manifest
    file = folder / "change.toml"
    file.write_text("[training]\nlearning_rate = 0.01\n")
    amended = ceremony.do("run", "amend", run, "--from", file, "--set", "admission.tick_s=9")
    assert "training.learning_rate: 0.02 -> 0.01" in amended.out
    assert "admission.tick_s: 10 -> 9" in amended.out
    ceremony.sign("cd")
    state = ceremony.start()
    assert (state.manifest.version, state.manifest.admission.tick_s) == (2, 9)

    shown = ceremony.do("root", "show", run, "--json")
    found = json.loads(shown.out)
    assert (found["root"]["version"], found["root"]["threshold"], found["asked"]) == (5, 2, [])
    assert new in found["root"]["keys"]
    assert "learning_rate = 0.01" in ceremony.do("root", "show", run, "--manifest").out
    peer = Home(folder / "peer")  # any node of the run
    peer.store_ticket(ceremony.home.load_ticket())
    peer.database.write_bytes(ceremony.home.database.read_bytes())
    for directory in (run, peer.directory):
        shown = ceremony.do("root", "show", directory)
        for record in (state.root, state.manifest):  # what a holder compares with what a proposal says is before it
            assert f"{record.NAME.capitalize()} version {record.version}, SHA-256 {record.digest().hex()}:" in shown.out


def test_who_signs_is_asked(ceremony: Ceremony, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = (ceremony.run / "to-sign").iterdir()
    sign = ("root", "sign", file, "--key", ceremony.folder / "a")
    before = file.read_bytes()
    assert "sign with --yes" in gonode(*sign).refusal()
    monkeypatch.setattr("node.disk.passphrase.is_terminal", lambda: True)
    for answer, status in ((False, 1), (True, 0)):
        monkeypatch.setattr(root_commands.click, "confirm", lambda *_, **__: answer)  # noqa: B023
        asked = gonode(*sign)
        assert asked.status == status
        assert "A new run, with root version 1" in asked.err
        assert (file.read_bytes() == before) != answer
    shown = ceremony.do("root", "show", file, "--json")
    assert json.loads(shown.out)["asked"][0]["signed"] == [ceremony.keys["a"]]
    assert "not yet" in ceremony.do("root", "show", file).out
    assert "[admission]" in ceremony.do("root", "show", file, "--manifest").out


def test_one_key_in_the_directory_signs_at_once(tmp_path: Path) -> None:
    made = gonode("run", "init", tmp_path / "run", *QUICK)
    assert made.status == 0
    answer = gonode("root", "sign", tmp_path / "run", "--verifier", VERA)
    assert answer.out == "Root version 2: 1 verifier, of whom 1 must cosign. Restart the coordinator to log it.\n"
    unasked = gonode("run", "amend", tmp_path / "run", "--set", "admission.tick_s=9")
    assert "Not signed yet: 1 more of the 1 key of root version" in unasked.err  # nobody could be asked
    assert unasked.err.endswith(f"Sign with the key that is here: gonode root sign {tmp_path / 'run'} --yes.\n")
    signed = gonode("root", "sign", tmp_path / "run", "--yes")
    assert "manifest-2" in signed.out
    assert "Not signed yet" not in signed.err
    ceremony = Ceremony(tmp_path)
    owners = [part for name in "abc" for part in ("--root-key", ceremony.keys[name])]
    old = load_public(ceremony.home.key("root")).hex()
    key = ceremony.home.key("root")
    unasked = gonode("root", "rotate", ceremony.run, *owners, "--drop", old, "--threshold", 2, "--key", key)
    assert f"gonode root sign {ceremony.run} --key {key} --yes. Have the holders sign" in unasked.err
    rotated = gonode("root", "sign", ceremony.run, "--key", key, "--yes")
    assert "Sign with the key that is here" not in rotated.err
    assert "Not signed yet: 2 more of the 3 keys of root version 2." in rotated.err
    ceremony.sign("ac")
    state = ceremony.start()
    assert (state.root.version, state.root.threshold, len(state.root.verifiers)) == (2, 2, 1)
    assert state.manifest.version == 1  # by the old key, which counts no more
    assert "other keys" in gonode("run", "amend", ceremony.run, "--set", "admission.tick_s=8").refusal()


def test_another_version_of_a_number_that_is_complete(ceremony: Ceremony) -> None:
    run = ceremony.run
    ceremony.sign("ab")
    ceremony.start()
    ceremony.do("root", "sign", run, "--verifier", VICTOR)
    ceremony.do("run", "amend", run, "--set", "admission.tick_s=9")
    ceremony.sign("ab")
    for command in (
        ("root", "sign", run, "--verifier", VIOLA),
        ("root", "rotate", run, "--threshold", 3),
        ("root", "revoke", run, VERA),
        ("run", "amend", run, "--set", "admission.tick_s=8"),
    ):
        assert "has enough signatures already" in gonode(*command).refusal()
        warned = ceremony.do(*command, "--instead")
        assert "Have every copy destroyed" in warned.err
        ceremony.sign("abc")  # complete again
    assert "no --verifier is given" in gonode("root", "sign", run, "--instead").refusal()
    assert ceremony.start().root.version == 2


def test_another_ticket_for_another_address(ceremony: Ceremony) -> None:
    first = ceremony.do("run", "ticket", ceremony.run).out
    host = load_key(ceremony.home.key("host"))
    ceremony.home.key("host").unlink()
    second = ceremony.do("run", "ticket", ceremony.run, "--address", "/ip4/192.0.2.7/tcp/4001")
    assert load_key(ceremony.home.key("host")) != host
    assert second.out != first
    assert ceremony.do("run", "ticket", ceremony.run).out == second.out
    assert "expected /ip4" in gonode("run", "ticket", ceremony.run, "--address", "here").refusal()


def test_bad_input(ceremony: Ceremony, tmp_path: Path) -> None:
    run, (file,) = ceremony.run, (ceremony.run / "to-sign").iterdir()
    noise, empty = tmp_path / "noise", tmp_path / "empty"
    noise.write_bytes(b"noise")
    noise.chmod(0o600)
    empty.mkdir()
    key = ceremony.folder / "a"
    for arguments, why in (
        (["sign", file, "--yes"], "which root key signs"),
        (["sign", file, "--yes", "--key", tmp_path / "none"], "cannot be read"),
        (["sign", file, "--yes", "--key", noise], "key file"),
        (["sign", file, "--verifier", VERA, "--key", key], "cannot be changed by who signs"),
        (["sign", noise, "--yes", "--key", key], "not a proposal"),
        (["sign", run, "--yes"], "no root key is here"),
        (["sign", empty, "--verifier", VERA], "no run is here"),
        (["sign", run, "--verifier", "abc"], "64 hexadecimal digits"),
        (["sign", run, "--verifier", VERA], "has a role already"),
        (["sign", run, "--verifier", VICTOR, "--expires", "0"], "expires"),
        (["show", empty], "no run is here"),
        (["show", noise], "not a proposal"),
        (["rotate", run], "Nothing is to be changed"),
        (["rotate", run, "--until", "5", "--threshold", "1"], "--coordinator is not given"),
        (["rotate", run, "--threshold", "9"], "cannot be 9"),
        (["rotate", run, "--drop", VERA], "not one of the root's keys"),
        (["rotate", run, "--coordinator", "old"], "64 hexadecimal digits"),
        (["rotate", empty, "--threshold", "1"], "no run is here"),
        (["revoke", run, VICTOR], "has no role"),
        (["revoke", run, "x"], "64 hexadecimal digits"),
        (["revoke", run, VERA, "--from", "-1"], "from"),
        (["collect", run, noise], "not a proposal"),
        (["collect", run, file, noise], "not a proposal"),
        (["collect", run, tmp_path / "none"], "cannot be read"),
        (["collect", empty, file], "no run is here"),
        (["collect", run], "FILE"),
        (["init", key], "never overwritten"),
    ):
        assert why.lower() in gonode("root", *arguments).refusal().lower(), arguments
    assert "Nothing is to be changed" in gonode("run", "amend", run).refusal()
    assert "no key nothing here" in gonode("run", "amend", run, "--set", "nothing=1").refusal()
    assert (
        "cannot be 4"
        in gonode("run", "init", tmp_path / "x", "--root-key", ceremony.keys["a"], "--threshold", "4").refusal()
    )
    assert "is not a root's key" in gonode("run", "init", tmp_path / "x", "--root-key", "abc").refusal()
    assert not (tmp_path / "x" / "ticket").exists()


@pytest.mark.parametrize("name", ["root", "manifest", "root.next", "manifest.next"])
def test_damaged_files_of_a_directory(name: str, ceremony: Ceremony) -> None:
    ceremony.sign("ab")
    (ceremony.run / name).write_bytes(b"damaged")
    for command in (["root", "show"], ["root", "collect"], ["root", "sign"]):
        more = {
            "collect": [next((ceremony.run / "to-sign").iterdir())],
            "sign": ["--yes", "--key", ceremony.folder / "a"],
        }
        assert name in gonode(*command, ceremony.run, *more.get(command[1], [])).refusal()
