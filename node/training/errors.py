"""Why a training failed: `TrainingFailed`."""


class TrainingFailed(Exception):
    """One sentence about why a cycle cannot be trained, and the exit status of a command that has nothing else to do:
    the trainer's own, or 3 where its process ends again and again. `error`: the name of the trainer's error, if it said one.
    """

    def __init__(self, sentence: str, exit_status: int, error: str = "") -> None:
        super().__init__(sentence)
        self.exit_status = exit_status
        self.error = error

    @property
    def is_of_the_job(self) -> bool:
        """Whether the same job fails again: its window or its training, not the machine or the way it was started."""
        return self.exit_status == 1 and self.error != ""
