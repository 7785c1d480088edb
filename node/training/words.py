"""How far a training is, in words: `training_words`."""

from node.training.events import Progress


def training_words(progress: Progress) -> str:
    """`37 %, loss 2.31, 1,204 samples/s, 3:20 left`."""
    share = f"{100 * progress.step // progress.steps} %"
    return (
        f"{share}, loss {progress.loss:.2f}, {progress.samples_per_s:,} samples/s, {clock(progress.seconds_left)} left"
    )


def clock(seconds: float) -> str:
    """`3:20`, from an hour on `1:02:03`."""
    left = int(seconds)
    return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d}" if left >= 3600 else f"{left // 60}:{left % 60:02d}"
