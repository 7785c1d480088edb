"""An engine for tests: `python engine.py MODE [FILE [SCORE]]` speaks GTP, plays the first empty point,
and errs as MODE says.

With a FILE it writes there each command that it reads, and has commands more, which it lists: those of time, seeds, rules
and handicaps. With a SCORE it counts games so, whatever they are; it dies if that is `die`.

MODE is `good`, or WHAT:COMMAND[:TIMES]: from the TIMES-th (1) COMMAND on it does WHAT: `die`, `hang`, `garbage`,
`silent-end` (closes its output and waits), `flood`, `refuse`, `illegal`, `nonsense`, `off`, `resign`, `number`, `half` (no
blank line).
"""

import os
import sys
import time
from typing import Any

COLUMNS = "ABCDEFGHJKLMNOPQRST"
FURTHER = ("time_settings", "time_left", "set_random_seed", "kata-set-rules", "set_free_handicap", "speed_up")


def say(text: str) -> None:
    os.write(1, text.encode())


def err(what: str) -> str | None:
    """What is answered, unless the engine ends or hangs first."""
    print(f"about to {what}", file=sys.stderr, flush=True)
    match what:
        case "die":
            sys.exit(7)
        case "hang":
            time.sleep(600)
        case "silent-end":
            os.close(1)
            time.sleep(600)
        case "garbage":
            say("I am no engine\n\n")
            return None
        case "flood":
            while True:
                say("= " + "x" * 5000)
        case "refuse":
            raise ValueError("I do not want to")
        case "half":
            say("= A1\n")
            time.sleep(600)
        case "number":
            say("=99999 A1\n\n")
            return None
    return {"illegal": "A1", "nonsense": "my best move", "off": "T19", "resign": "ReSign"}[what]


def main(mode: str, path: str | None = None, score: str | None = None) -> None:
    what, _, when = mode.partition(":")
    command_at, _, times = when.partition(":")
    left = int(times or 1)
    size, taken = 19, set[str]()
    for line in sys.stdin:
        number, command, *words = line.split()
        if path is not None:
            with open(path, "a", encoding="utf-8") as file:
                file.write(" ".join((command, *words)) + "\n")
        answer: Any = ""
        try:
            if command == command_at:
                left -= 1
                if left <= 0:
                    answer = err(what)
                    if answer is not None:
                        say(f"={number} {answer}\n\n")
                    continue
            if command == "boardsize":
                size = int(words[0])
            elif command == "clear_board":
                taken = set()
            elif command == "play":
                taken.add(words[1].upper())
            elif command == "genmove":
                # Fills three rows from below, then passes.
                points = (f"{column}{row}" for row in (1, 2, 3) for column in COLUMNS[:size])
                answer = next((point for point in points if point not in taken), "PASS")
                taken.add(answer)
                answer = answer.lower()
            elif command in ("name", "version"):
                answer = {"name": "Test engine", "version": "1.0"}[command]
            elif command == "list_commands" and path is not None:
                answer = "\n".join(("genmove", "play", *FURTHER, *(() if score is None else ("final_score",))))
            elif command == "final_score" and score is not None:
                answer = err("die") if score == "die" else score
            elif command in FURTHER and path is not None:
                if command == "set_free_handicap":
                    taken = {word.upper() for word in words}
            elif command == "quit":
                say(f"={number}\r\n\r\n")
                return
            elif command != "komi":
                raise ValueError("unknown command")
            say(f"={number} {answer}\r\n\r\n")
        except ValueError as error:
            say(f"?{number} {error}\n\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
