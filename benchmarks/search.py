"""Cost of a visit on one core, in all and outside the network: `python -m benchmarks.search [--quick] [--json]`.

Whole self-play games are played by one thread, in turns with evaluations alone. What is left of a visit's time without its
evaluations is ours: rules, features, softmax, tree, trace. Times are processor time, so that other load counts little.
"""

from benchmarks._games import SUBJECTS, Subject, game_numbers, games_and_evaluations
from benchmarks._run import Row, arguments, show
from native.network import Kernel


def measure(subject: Subject, kernel: Kernel, seconds: float) -> Row:
    """One row."""
    numbers = game_numbers(games_and_evaluations(subject.network(), subject.size, kernel, seconds))
    return {"subject": subject.name, "us/visit": 1e6 / numbers["visits/cpu s"], **numbers}


def main() -> None:
    """Measures and prints."""
    given = arguments(__doc__)
    seconds = 1.0 if given.quick else 10.0
    subjects = (*SUBJECTS[:3], Subject(9, 1, 16), *SUBJECTS[3:])
    show((measure(subject, given.kernel, seconds) for subject in subjects), given.json)


if __name__ == "__main__":
    main()
