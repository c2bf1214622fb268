"""A substitution that has no value."""


class SubstitutionFailure(Exception):
    """Says which substitution failed and why."""
