"""The examples that `--help` of each command ends with: a line as it is typed, and what it does."""

from collections.abc import Iterable

import click

from node.cli.setting import commands_in

Example = tuple[str, str]

FIRST_STEPS: tuple[Example, ...] = (
    ("gonode local", "A whole run on this machine: coordinator, verifier, contributors; then its audit."),
    ("gonode setup", "A few questions; then `gonode join` alone contributes to a run."),
    ("gonode run init my-run", "A run of your own: keys, manifest, and the ticket for those who join."),
    ("gonode audit --ticket TICKET", "Check a run that others made."),
    ("gonode doctor", "What is wrong here, and what mends it."),
)

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "analysis": (
        ("gonode analysis --visits 400", "The newest release below demo/, as KaTrain's engine command."),
        ("gonode analysis network.net --threads 2 --quit-without-waiting", "A network's file, two positions at once."),
    ),
    "analyze": (
        ("gonode analyze game.sgf", "What the newest release below demo/ says of each move."),
        ("gonode analyze game.sgf r0003 --dir my-run --out said.sgf --graph said.svg", "As comments, and as a graph."),
    ),
    "audit": (
        ("gonode audit --dir my-run", "Check the newest release of a run in a directory, five games of it replayed."),
        ("gonode audit --ticket TICKET --full", "Copy a run from its peers and replay every game that counts."),
        ("gonode audit --dir my-run --release r0003 --retrain", "Repeat a part of the training of one release."),
    ),
    "bench": (
        ("gonode bench", "Measure for 14 s, and remember the fastest threads and games in flight."),
        ("gonode bench --net b10c128 --size 19 --json", "Another network and board, for a script."),
    ),
    "config": (
        ("gonode config", "Every setting, and which variable or file it came from."),
        ("gonode config --dir node --json", "What counts in a node's directory, for a script."),
    ),
    "config set": (
        ("gonode config set join.nice 10", "`gonode join` gives way to other programs from now on."),
        (
            "gonode config set join.listen /ip4/0.0.0.0/tcp/4001 --dir node",
            "For the node in one directory alone; a list takes several values.",
        ),
    ),
    "config unset": (("gonode config unset join.nice", "The default counts again."),),
    "completion": (
        (
            "gonode completion bash > ~/.local/share/bash-completion/completions/gonode",
            "For bash, from the next shell on.",
        ),
        ('eval "$(gonode completion zsh)"', "For zsh: a line of ~/.zshrc."),
        ("gonode completion fish > ~/.config/fish/completions/gonode.fish", "For fish."),
    ),
    "coordinate": (
        ("gonode coordinate my-run", "Run the run that `gonode run init my-run` made, until Ctrl-C."),
        ("gonode coordinate my-run --grow b10c128", "Begin a larger network with the next cycle."),
    ),
    "doctor": (
        ("gonode doctor", "Look at this machine and the node below ~/.gonode."),
        ("gonode doctor --dir node --json", "For a script; status 1 when something is wrong."),
    ),
    "drain": (("gonode drain", "The node finishes what it has begun, sends it, and ends."),),
    "export leela-zero": (
        (
            "gonode export leela-zero games/*.sgf --out data",
            "Records of games as training files, to begin a network with.",
        ),
        ("gonode export leela-zero --dir my-run --out data", "What a run's searches found, on 19x19."),
    ),
    "gtp": (
        ("gonode gtp", "The newest release below demo/, for Sabaki, GoGui or Lizzie to play with."),
        ("gonode gtp r0003 --dir my-run --time 5", "One release, five seconds a move."),
        ("gonode gtp network.bin --visits 400 --rules chinese", "A network's file, by rules of your choice."),
    ),
    "export npz": (
        (
            "gonode export npz --dir my-run --pos-len 9 --out base/selfplay",
            "Training rows for KataGo's shuffle.py and train.py.",
        ),
    ),
    "export sgf": (
        ("gonode export sgf --dir my-run --newest 100 --out games", "The newest hundred games, with their searches."),
        (
            "gonode export sgf --dir my-run --release 3 --contributor ada --out games",
            "One contributor's, of a release.",
        ),
        (
            "gonode export sgf --dir my-run --comments katago --out games",
            "All games, for programs that read those of KataGo's self-play.",
        ),
    ),
    "export weights": (
        ("gonode export weights latest --dir my-run --out net.npz", "The newest release's float weights, for numpy."),
    ),
    "invite": (
        ("gonode invite my-run > invite", "An invite for one contributor: gonode join TICKET --invite invite."),
    ),
    "join": (
        ("gonode join TICKET", "Contribute games until Ctrl-C, on all cores."),
        ("gonode join TICKET --threads 2 --nice 19", "Two cores, and only what other programs leave of them."),
        ("gonode join --invite invite --name ada", "By an invite, under a name; the ticket is that of gonode setup."),
        (
            "gonode join TICKET --listen /ip4/0.0.0.0/tcp/4001 --announce /ip4/192.0.2.7/tcp/4001",
            "Behind a router that forwards a port, so that others reach this node.",
        ),
    ),
    "keys export": (
        ("gonode keys export node/keys/host --words", "The key as 24 words, to be written on paper."),
        ("gonode keys export node/keys/host --to stick/host", "A copy, under a passphrase of its own."),
    ),
    "keys import": (
        ("gonode keys import node/keys/host --words", "Read 24 words and write the key."),
        ("gonode keys import node/keys/host --from stick/host", "From a copy."),
    ),
    "keys passphrase": (("gonode keys passphrase node/keys/host", "Ask for the old and the new passphrase."),),
    "keys recovery": (
        ("gonode keys recovery stick/recovery", "Make it before joining, and join with --recovery HASH."),
    ),
    "keys replace": (
        (
            "gonode keys replace TICKET --recovery stick/recovery",
            "After a theft: a new key, with the old one's history.",
        ),
    ),
    "keys show": (("gonode keys show node", "The public keys in a node's directory; no passphrase is needed."),),
    "local": (
        ("gonode local", "Two releases or twelve minutes, whatever comes first, then the audit."),
        (
            "gonode local --preset 9x9 --preset fast --minutes 60 --dir trial",
            "Longer, on 9x9, in a directory to go on with.",
        ),
    ),
    "match": (
        ("gonode match latest first --dir my-run", "The newest release against the first, 100 games."),
        ("gonode match latest random --games 20 --size 9 --sgf games", "Keep the games as SGF."),
        (
            "gonode match latest \"gtp:'gnugo --mode gtp'\" --record pairs.jsonl",
            "Against an engine; goes on where it ended.",
        ),
        (
            "gonode match best.txt.gz other.txt.gz --size 19 --komi 7.5 --time 5",
            "Two networks of Leela Zero, five seconds a move.",
        ),
    ),
    "mirror": (
        ("gonode mirror TICKET copy", "Keep a copy of a run up to date, as for a web server."),
        ("gonode mirror TICKET copy --once", "Copy what there is now, and end."),
    ),
    "pause": (("gonode pause", "Play rests, as while you need the machine; gonode resume has it go on."),),
    "proof check": (
        (
            "gonode proof check FILE --ticket TICKET",
            "Replay what a proof is about, with the network from the run's peers.",
        ),
    ),
    "proof show": (("gonode proof show FILE", "What it claims, in words; nothing of it is checked."),),
    "ratings": (
        ("gonode ratings --dir my-run", "Releases and candidates by the gates' games."),
        ("gonode ratings --dir my-run --matches pairs.jsonl --anchor gnugo=1500", "With a match against an engine."),
    ),
    "relay": (("gonode relay TICKET --listen /ip4/0.0.0.0/tcp/4001", "On a machine that others can dial."),),
    "report": (
        ("gonode report --dir my-run", "A page, report.html, about the whole run."),
        ("gonode report --dir my-run --json --batches 0", "Its numbers, without opening batches."),
    ),
    "resume": (("gonode resume", "Play goes on after gonode pause."),),
    "root collect": (("gonode root collect my-run signed/*", "Add signatures that came back."),),
    "root init": (
        ("gonode root init stick/root", "One holder's key; its public key goes into `run init --root-key`."),
    ),
    "root revoke": (
        ("gonode root revoke my-run KEY --from 812000", "A verifier's key counts no more from an entry on."),
    ),
    "root rotate": (
        ("gonode root rotate my-run --coordinator new", "Another key for the coordinator, without haste."),
        ("gonode root rotate my-run --drop KEY --root-key KEY", "Another holder in the place of one."),
    ),
    "root show": (("gonode root show my-run", "The root in force, and what waits for signatures."),),
    "root sign": (
        ("gonode root sign my-run --verifier KEY", "Let a verifier in, by the key that `verify --request` printed."),
        ("gonode root sign to-sign/root-2 --key stick/root", "As a holder: read what is asked, and sign it."),
    ),
    "run amend": (
        ("gonode run amend my-run --set training.learning_rate=0.01", "Games and training follow it from then on."),
    ),
    "run init": (
        ("gonode run init my-run", "The default run; its ticket is printed."),
        (
            "gonode run init my-run --preset 9x9 --preset invited --address /ip4/192.0.2.7/tcp/4000",
            "On 9x9, for those who are invited, reached from elsewhere.",
        ),
        ("gonode run init my-run --verifier KEY", "With a verifier, by the key that `verify --request` printed."),
    ),
    "run show": (
        ("gonode run show --preset 9x9 > run.toml", "A file to change and begin with: run init --from run.toml."),
        ("gonode run show run.toml --set rules.ko=simple", "What a file and a setting make together."),
    ),
    "run ticket": (
        ("gonode run ticket my-run", "Print it again."),
        ("gonode run ticket my-run --address /ip4/192.0.2.7/tcp/4000", "When the coordinator's address changed."),
    ),
    "service print": (
        (
            "gonode service print -- join TICKET --nice 19 > ~/.config/systemd/user/gonode-join.service",
            "A unit of yours; standard error says how it is started.",
        ),
        ("gonode service print --system -- relay TICKET", "One of the machine's, with an account of its own."),
    ),
    "setup": (("gonode setup", "Answer once; then `gonode join` alone is enough."),),
    "status": (
        ("gonode status", "What the node below ~/.gonode does, and what it waits for."),
        ("gonode status --contributors --dir my-run", "How everybody stands, most credit first."),
    ),
    "stop": (("gonode stop", "The node ends at once; what is finished is kept."),),
    "train": (
        ("gonode train --data my-run --out nets --steps 1000", "A network from a run's games, for an experiment."),
        ("gonode train --from-leela-zero data --network b4c64", "Weights that leelaz loads, from its training files."),
    ),
    "verify": (
        ("gonode verify TICKET --request", "The key that the root's holder has to approve."),
        ("gonode verify TICKET", "Verify and witness until Ctrl-C."),
    ),
    "web": (
        ("gonode web --dir my-run", "Pages of a run at http://127.0.0.1:8080, from a node's directory."),
        ("gonode web --static pages --dir my-run", "The audit page, with the run's log, as files for a web server."),
    ),
}


def add_examples(words: tuple[str, ...], command: click.Command) -> None:
    """Has the help of `command`, or of the commands in it, end with their examples."""
    if " ".join(words) in EXAMPLES:
        command.epilog = epilog(EXAMPLES[" ".join(words)])
    for found, leaf in commands_in(words, command):
        if " ".join(found) in EXAMPLES:
            leaf.epilog = epilog(EXAMPLES[" ".join(found)])


def epilog(examples: Iterable[Example], head: str = "Examples:") -> str:
    """The end of a help page; the first line keeps click from filling lines anew."""
    return "\n".join(("\b", head, *(f"  {line}\n      {what}" for line, what in examples)))
