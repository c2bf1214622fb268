"""The public place of `validate_parameter_name`."""

from .exceptions import InvalidParameterException


def validate_parameter_name(name: str) -> bool:
    """True, or raises InvalidParameterException for an empty name."""
    if not name:
        raise InvalidParameterException(name)
    return True
