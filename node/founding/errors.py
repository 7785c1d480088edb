"""Why a run cannot be made or changed."""


class FoundingError(ValueError):
    """One sentence about why a run cannot be made, opened or changed."""


class ProposalError(FoundingError):
    """One sentence about what root keys are asked to sign and cannot, or should not."""
