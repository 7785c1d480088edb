"""What keeps an audit from beginning."""


class AuditInputError(ValueError):
    """One sentence about why there is nothing to audit."""
