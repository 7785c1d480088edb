"""Settings by flag, environment and file: which one wins, which file counts, and what is wrong with one in a sentence."""

from pathlib import Path

import click
import pytest

from node.cli.main import gonode as command
from node.cli.setting import commands_in, settings_of
from node.lifetime import SUPERVISOR_VARIABLE
from tests.node.cli.gonode import gonode, the_object
from tests.node.homes import TICKET

SETTINGS = {setting.key: setting for words, leaf in commands_in((), command) for setting in settings_of(words, leaf)}


def write(folder: Path, text: str) -> Path:
    """A file of settings in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "gonode.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def user() -> Path:
    """The folder of the user's file."""
    return Path("~/.gonode").expanduser()


def given(words: str, *arguments: str) -> dict[str, object]:
    """What a command would be called with: its parameters after flags, environment and file."""
    context = command.make_context("gonode", [*words.split(), *arguments])
    name, found, rest = command.resolve_command(context, [*words.split(), *arguments])
    assert found is not None
    while isinstance(found, click.Group):
        with found.make_context(name, rest, parent=context) as context:
            name, found, rest = found.resolve_command(context, rest)
            assert found is not None
    return dict(found.make_context(name, rest, parent=context).params)


def test_names() -> None:
    nice, replace = SETTINGS["join.nice"], SETTINGS["keys.replace.from"]
    assert nice.variable == "GONODE_JOIN_NICE"
    assert (replace.variable, replace.words) == ("GONODE_KEYS_REPLACE_FROM", ("keys", "replace"))
    assert SETTINGS["local.at-least-minutes"].variable == "GONODE_LOCAL_AT_LEAST_MINUTES"
    assert {"join.ticket", "join.dir", "join.json", "join.lan", "relay.ticket"} <= set(SETTINGS)
    assert not {"mirror.ticket", "join.help", "config.dir", "coordinate.directory"} & set(SETTINGS)
    variables = [setting.variable for setting in SETTINGS.values()]
    assert len(set(variables)) == len(variables)
    assert not {"GONODE_PASSPHRASE", "GONODE_NEW_PASSPHRASE", "GONODE_MACHINE", SUPERVISOR_VARIABLE} & set(variables)


def test_flag_before_environment_before_file(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert given("join", TICKET)["nice"] == 0
    write(user, '[join]\nnice = 5\nlan = false\nlisten = ["/ip4/127.0.0.1/tcp/9"]\nthreads = "2"\nup = "1M"\n')
    found = given("join", TICKET)
    assert (found["nice"], found["lan"], found["listen"], found["threads"], found["up"]) == (
        5,
        False,
        ("/ip4/127.0.0.1/tcp/9",),
        2,
        1 << 20,
    )
    monkeypatch.setenv("GONODE_JOIN_NICE", "6")
    monkeypatch.setenv("GONODE_JOIN_LAN", "1")
    monkeypatch.setenv("GONODE_JOIN_LISTEN", "/ip4/127.0.0.1/tcp/7 /ip4/127.0.0.1/tcp/8")
    found = given("join", TICKET)
    assert (found["nice"], found["lan"], found["listen"]) == (6, True, ("/ip4/127.0.0.1/tcp/7", "/ip4/127.0.0.1/tcp/8"))
    found = given("join", TICKET, "--nice", "7", "--no-lan", "--listen", "none")
    assert (found["nice"], found["lan"], found["listen"]) == (7, False, ())


def test_words_of_two_and_a_folder_of_the_home(user: Path) -> None:
    write(user, f'[keys.replace]\nticket = "{TICKET}"\nrecovery = "~/stick"\ndir = "~"\n')
    found = given("keys replace")
    assert (found["ticket"], found["recovery"], found["directory"]) == (TICKET, user.parent / "stick", user.parent)


def test_the_file_of_a_directory(user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(user, "[join]\nnice = 1\n[audit]\nsample = 1\n")
    own = tmp_path / "node"
    write(own, "[join]\nthreads = 3\n[audit]\nsample = 0\n")
    found = given("join", TICKET, "--dir", str(own))
    assert (found["nice"], found["threads"]) == (0, 3)
    assert given("join", TICKET)["nice"] == given("join", TICKET, "--dir", str(tmp_path))["nice"] == 1
    assert given("audit", "--dir", str(own))["sample"] == 1, "a directory of others says how it is audited"
    monkeypatch.setenv("GONODE_JOIN_DIR", str(own))
    assert (given("join", TICKET)["directory"], given("join", TICKET)["threads"]) == (own, 3)
    monkeypatch.setenv(SUPERVISOR_VARIABLE, "1")
    assert given("join", TICKET)["threads"] is None


@pytest.mark.parametrize("line", [f'recovery = "{"ab" * 32}"', 'metrics = "127.0.0.1:9000"'])
def test_what_a_directory_does_not_say(line: str, user: Path, tmp_path: Path) -> None:
    """It may come from somebody who wants the key, or wants to read along."""
    own = tmp_path / "node"
    path = write(own, f"[join]\n{line}\n")
    sentence = gonode("join", TICKET, "--dir", own).refusal()
    assert sentence.startswith(f"{path}: join.{line.split()[0]} counts as a flag, as GONODE_JOIN_")
    write(user, f"[join]\n{line}\n")
    assert given("join", TICKET)[line.split()[0]]
    refusal = gonode("config", "set", f"join.{line.split()[0]}", line.split('"')[1], "--dir", own).refusal()
    assert "may come from others" in refusal


WRONG = {
    "[join]\nniec = 1\n": "[join] has no key 'niec'; the nearest is nice.",
    "[jion]\nnice = 1\n": "there is no command 'jion'; the nearest is join.",
    "[join]\nnice = 30\n": "join.nice: 30 is not in the range 0<=x<=19.",
    "[join]\nnice = 5.5\n": "join.nice: '5.5' is not a valid integer range.",
    "[join]\nnice = [1]\n": "join.nice is a text or a number.",
    "[join]\nnice = 2026-01-01\n": "join.nice is a text or a number.",
    "[join]\nnice = 0x" + "f" * 9000 + "\n": "join.nice: this number is too long.",
    '[join]\nlan = "no"\n': "join.lan is true or false.",
    '[join]\nlisten = ["/ip4/1.2.3/tcp/1"]\n': "join.listen: ",
    "[join]\nlisten = [[]]\n": "join.listen is a text or a number, or a list of them.",
    '[join]\nkernel = "abacus"\nup = "much"\n': "join.up: ",
    "join = 1\n": "join is a command, so it needs a table: [join].",
    "[join\n": "this is no TOML: ",
    "[join]\nnice = 1\nnice = 2\n": "this is no TOML: ",
    "[[" * 3000: "this is no TOML: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_files(text: str, user: Path) -> None:
    path = write(user, text)
    sentence = gonode("join", TICKET).refusal()
    assert sentence.startswith(f"{path}: ")
    assert WRONG[text] in sentence
    assert gonode("join", "--help").status == 0


def test_files_that_cannot_be_read(user: Path) -> None:
    path = write(user, "")
    path.write_bytes(b"\xff\xfe[join]")
    assert "this is no TOML" in gonode("join", TICKET).refusal()
    path.write_bytes(b"#" * (1 << 21))
    assert "at most" in gonode("join", TICKET).refusal()


def test_a_wrong_key_of_another_command_stops_none(user: Path) -> None:
    write(user, "[join]\nniec = 1\n")
    assert given("verify", TICKET)["lan"] is True
    assert "niec" in gonode("config").refusal()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("GONODE_JOIN_NICE", "many"), ("GONODE_JOIN_LAN", "perhaps"), ("GONODE_JOIN_LISTEN", "here")],
)
def test_wrong_variables(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    assert gonode("join", TICKET).refusal().startswith(f"{variable}: ")


def test_every_setting_has_a_line(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(user, "[join]\nnice = 5\n")
    monkeypatch.setenv("GONODE_VERIFY_THREADS", "2")
    found = the_object(gonode("config", "--json"))
    assert found["file"] == str(path)
    values = {value.pop("key"): value for value in found["values"]}
    assert set(values) == set(SETTINGS)
    assert values["join.nice"] == {"value": 5, "source": "file", "from": str(path)}
    assert values["verify.threads"] == {"value": 2, "source": "environment", "from": "GONODE_VERIFY_THREADS"}
    assert values["verify.nice" if "verify.nice" in values else "match.games"]["source"] == "default"
    assert values["join.ticket"] == {"value": None, "source": "default", "from": None}
    text = gonode("config")
    assert (text.status, text.err) == (0, "")
    assert f"\nnice = 5  # {path}\n" in text.out
    write(user, text.out)
    assert gonode("config").status == 0, "what it prints is a file of settings"


def test_set_and_unset(user: Path) -> None:
    assert gonode("config", "set", "join.nice", "10").status == 0
    path = user / "gonode.toml"
    path.write_text(
        f"# mine\n\n[join] # here\nnice = 10 # kind\n# end\n\n[bench]\nsize = 9\n{'':3}\n", encoding="utf-8"
    )
    for key, *values in (
        ("join.nice", "12"),
        ("join.lan", "no"),
        ("join.listen", "/ip4/0.0.0.0/tcp/1", "/ip4/0.0.0.0/tcp/2"),
        ("local.minutes", "1.5"),
        ("keys.replace.ticket", TICKET),
    ):
        assert gonode("config", "set", key, *values).out == f"{path}: {key} is set.\n"
    text = path.read_text(encoding="utf-8")
    assert "# mine\n\n[join] # here\nnice = 12 # kind\n" in text
    assert "lan = false\n" in text
    assert "minutes = 1.5\n" in text
    assert f'[keys.replace]\nticket = "{TICKET}"\n' in text
    assert given("join", TICKET)["listen"] == ("/ip4/0.0.0.0/tcp/1", "/ip4/0.0.0.0/tcp/2")
    assert "no more" in gonode("config", "unset", "join.nice").out
    assert "was not set" in gonode("config", "unset", "join.nice").out
    assert "# mine\n\n[join] # here\n" in path.read_text(encoding="utf-8")
    assert given("join", TICKET)["nice"] == 0


def test_set_in_a_directory(user: Path, tmp_path: Path) -> None:
    write(user, "[join]\nnice = 1\n")
    done = gonode("config", "set", "join.threads", "2", "--dir", tmp_path)
    assert done.status == 0
    assert "counts from now on" in done.err
    assert given("join", TICKET, "--dir", str(tmp_path))["nice"] == 0
    assert the_object(gonode("config", "--dir", tmp_path, "--json"))["file"] == str(tmp_path / "gonode.toml")
    assert "leave --dir out" in gonode("config", "set", "audit.sample", "2", "--dir", tmp_path).refusal()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["join.niec", "1"], "the nearest is join.nice"),
        (["xyzzy", "1"], "gonode config lists them all"),
        (["join.nice", "30"], "join.nice: 30 is not in the range"),
        (["join.nice", "1", "2"], "has one value, not 2"),
        (["join.listen", "here"], "join.listen: "),
        (["config.dir", "x"], "is no setting"),
    ],
)
def test_nothing_wrong_is_set(arguments: list[str], sentence: str, user: Path) -> None:
    assert sentence in gonode("config", "set", *arguments).refusal()
    assert not user.exists()


def test_a_file_that_is_no_toml_is_not_changed(user: Path) -> None:
    path = write(user, "[join\n")
    assert "this is no TOML" in gonode("config", "set", "join.nice", "1").refusal()
    assert path.read_text(encoding="utf-8") == "[join\n"
