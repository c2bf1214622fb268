"""Texts from other processes as data: JSON and YAML of bounded size, whatever they say."""

from __future__ import annotations

import json
from typing import Any

import yaml

from fleet_sim.errors import InvalidValueError, brief

LONGEST_TEXT = 100_000
"""Characters of a text in a message."""
MOST_REMOTE = 100_000
"""Values in a text of a message, those that an alias stands for counted each time."""
MOST_IN_FILE = 5_000_000
"""Values in a file, counted in the same way."""


def check_text(text: str, what: str) -> str:
    """Return `text`; raises InvalidValueError where it is too long for a message."""
    if len(text) > LONGEST_TEXT:
        raise InvalidValueError(f"{what}: expected at most {LONGEST_TEXT} characters, got {len(text)}")
    return text


def read_json(text: str, what: str) -> Any:
    """Return the JSON value in `text`; raises InvalidValueError naming `what`, also for one that is nested too deep."""
    try:
        return json.loads(check_text(text, what))
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise InvalidValueError(f"{what} are not valid JSON ({reason}): {brief(text)}") from error


def check_nodes(node: yaml.Node, most: int) -> None:
    """Raise InvalidValueError where the YAML under `node` stands for more than `most` values, or contains itself.

    A few lines of aliases of aliases stand for more values than any memory holds.
    """
    sizes: dict[int, int] = {}
    if _size(node, sizes) > most:
        raise InvalidValueError(f"it stands for more than {most} values, those of aliases counted each time")


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return how many nodes a YAML node has with its aliases written out; raises InvalidValueError for a loop."""
    known = sizes.get(id(node))
    if known is not None:
        if known == 0:
            raise InvalidValueError("an alias in it contains itself")
        return known
    size = 1
    if isinstance(node, yaml.CollectionNode):
        # 0 while its items are counted: who meets it then is inside of it.
        sizes[id(node)] = 0
        for item in node.value:
            size += sum(_size(part, sizes) for part in item) if isinstance(item, tuple) else _size(item, sizes)
    sizes[id(node)] = size
    return size
