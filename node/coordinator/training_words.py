"""How far a training is, in words: `training_words` of a trainer's progress event."""

from typing import Any


def training_words(progress: dict[str, Any]) -> str:
    """`37 %, loss 2.31, 1,204 samples/s, 3:20 left`; of a progress event, or what a coordinator's status has of it."""
    share = f"{100 * progress['step'] // progress['steps']} %"
    rate, left = progress.get("samples_per_s", 0), clock(progress.get("seconds_left", 0))
    return f"{share}, loss {progress.get('loss', 0):.2f}, {rate:,} samples/s, {left} left"


def clock(seconds: float) -> str:
    """`3:20`, from an hour on `1:02:03`."""
    left = int(seconds)
    return f"{left // 3600}:{left // 60 % 60:02d}:{left % 60:02d}" if left >= 3600 else f"{left // 60}:{left % 60:02d}"
