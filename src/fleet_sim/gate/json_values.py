"""JSON in files that anybody may have written: read, and its values checked one by one."""

from __future__ import annotations

import json
from typing import Any

from fleet_sim.errors import InvalidValueError, brief

LONGEST_NAME = 1000
"""Characters of a name or of a path."""


def json_in(text: str | bytes, what: str) -> Any:
    """Return what `text` stands for; raises InvalidValueError naming `what`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(f"{what} is not valid JSON: {str(error)[:200]}") from error


def mapping_in(text: str | bytes, what: str) -> dict[str, Any]:
    """Return the mapping that `text` stands for; raises InvalidValueError naming `what`."""
    content = json_in(text, what)
    if not isinstance(content, dict):
        raise InvalidValueError(f"{what} is not a mapping: {brief(content)}")
    return content


def text_of(value: object) -> str:
    """Return a text; raises InvalidValueError for anything else, and for one that no file may be called."""
    if not isinstance(value, str) or len(value) > LONGEST_NAME or "\0" in value:
        raise InvalidValueError(f"expected a text of at most {LONGEST_NAME} letters, got {brief(value)}")
    return value


def number_of(value: object, low: float, high: float) -> float:
    """Return a number from `low` to `high`; raises InvalidValueError for anything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidValueError(f"expected a number from {low:g} to {high:g}, got {brief(value)}")
    return float(value)
