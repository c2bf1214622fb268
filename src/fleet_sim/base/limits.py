"""What may come in from outside: bounds of numbers and texts, JSON and YAML, folders, patterns of bounded work.

Squares, sums of squares and products with time steps of numbers within these bounds stay finite.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import yaml

from fleet_sim.base.arrays import AnyArray, Bools, Floats
from fleet_sim.base.errors import InvalidValueError, StateError, brief
from fleet_sim.base.files import exists, expanded, is_file, is_folder, is_remote, listed

EXTENT = 1e6
"""How far from the origin anything may be put along an axis, in m, where a simulation sets nothing else."""
LARGEST_EXTENT = 1e9
"""Of what a simulation may set, and of any pose in a configuration, in m."""
LARGEST_SIZE = 1e6
"""Of a body along an axis, in m."""
LARGEST_SPEED = 1e9
"""In m/s or rad/s; also the limit of accelerations, in m/s^2 or rad/s^2."""
SHORTEST_STEP, LONGEST_STEP = 1e-9, 3600.0
"""Of simulated time, in s."""
SLOWEST = 1e-6
"""Real-time factor, but for 0: a simulated second in twelve days."""
SMALLEST_EXTENT = 1e-3
"""Of a world from its origin along an axis, in m."""
MOST_SUBSTEPS = 10_000
"""Steps of an engine in one step."""
MOST_ITERATIONS = 10_000
"""Of a solver."""
MOST_OBJECTS = 10_000
"""Of a kind in an environment or a heap."""
LONGEST_HISTORY = 100_000
"""Steps of which something is remembered for each agent."""
MOST_PIXELS = 16_384
"""Along one side of a window."""
LARGEST_MASS = 1e12
"""In kg."""
LARGEST_FORCE = 1e15
"""Of a motor, in N or N m."""
LONGEST_TIME = 1e9
"""Of timeouts and waits, in s: 30 years."""
MOST_ALIKE = 1_000_000
"""Entities of one grid."""


def inside_mask(vectors: AnyArray, bound: float) -> Bools:
    """Return which of `vectors` (N, K) have no component beyond `bound`; one that is not a number is beyond."""
    mask: Bools = np.asarray((np.abs(vectors) <= bound).all(axis=1))
    return mask


def check_extent(positions: Floats, extent: float, what: str = "position") -> None:
    """Raise InvalidValueError unless all `positions` (..., 3) are within `extent` m along each axis."""
    if positions.size and not np.abs(positions).max() <= extent:
        worst = positions.reshape(-1, 3)[int(np.argmin(inside_mask(positions.reshape(-1, 3), extent)))]
        raise InvalidValueError(f"{what}: {beyond(extent)}, got {worst.tolist()}")


def check_speeds(velocities: Floats, what: str) -> None:
    """Raise InvalidValueError unless all `velocities` are within LARGEST_SPEED."""
    if velocities.size and not np.abs(velocities).max() <= LARGEST_SPEED:
        raise InvalidValueError(f"{what}: expected at most {LARGEST_SPEED:g} along an axis, got {velocities.tolist()}")


def beyond(extent: float) -> str:
    """Return why a position is refused."""
    return f"the world ends {extent:g} m from its origin along each axis (simulation.world_extent)"


# Texts from other processes as data: JSON and YAML of bounded size, whatever they say.


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


# Files that other processes name: below one folder that the operator has named, and nowhere else.


LONGEST_NAME = 200
MOST_FILES = 100
"""Files of one kind in a folder that other processes may write to."""


class OperatorFolder:
    """A folder for files that end in `suffix`; "" for none, then every name is refused with `advice`."""

    def __init__(self, folder: str, suffix: str, advice: str) -> None:
        """Raises InvalidValueError where there is no such folder."""
        if folder and not is_folder(expanded(folder)):
            raise InvalidValueError(f"there is no folder {brief(folder)}")
        self._folder = expanded(folder).resolve() if folder else None
        self._suffix = suffix
        self._advice = advice

    def file_to_read(self, name: str) -> Path:
        """Return the file called `name`; raises StateError without a folder, InvalidValueError for anything else."""
        file = self._below(name)
        # Nothing else is opened: reading a pipe would wait for ever.
        if not is_file(file):
            raise InvalidValueError(f"there is no file {brief(name)}")
        return file

    def file_to_write(self, name: str) -> Path:
        """Return where to write a file called `name`, new or in place of an older one; raises as `file_to_read`."""
        file = self._below(name)
        if exists(file) and not is_file(file):
            raise InvalidValueError(f"{brief(name)} is not a file")
        if not is_folder(file.parent):
            raise InvalidValueError(f"the folder of {brief(name)} does not exist")
        if not exists(file) and len(listed(file.parent, f"*{self._suffix}")) >= MOST_FILES:
            raise InvalidValueError(f"{MOST_FILES} files are there already; replace one of them")
        return file

    def _below(self, name: str) -> Path:
        """Return the file `name` below the folder, links resolved.

        Raises StateError where no folder was given, and InvalidValueError for any name that leads out of it.
        """
        if self._folder is None:
            raise StateError(self._advice)
        expected = f"a name below the folder that ends in {self._suffix}, such as noon{self._suffix}"
        if not (isinstance(name, str) and len(name) <= LONGEST_NAME and name.isprintable()):
            raise InvalidValueError(f"file: expected {expected}, got {brief(name)}")
        if not name.endswith(self._suffix) or name == self._suffix or Path(name).is_absolute():
            raise InvalidValueError(f"file: expected {expected}, got {brief(name)}")
        try:
            # Links resolved: one in the folder may lead out of it.
            file = (self._folder / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise InvalidValueError(f"file: {brief(name)} leads nowhere") from error
        if ".." in Path(name).parts or not file.is_relative_to(self._folder) or not file.name.endswith(self._suffix):
            raise InvalidValueError(f"file: {brief(name)} leads out of the folder; expected {expected}")
        return file


# JSON in files that anybody may have written: read, and its values checked one by one.


LONGEST_KEY = 1000
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
    if not isinstance(value, str) or len(value) > LONGEST_KEY or "\0" in value:
        raise InvalidValueError(f"expected a text of at most {LONGEST_KEY} letters, got {brief(value)}")
    return value


def number_of(value: object, low: float, high: float) -> float:
    """Return a number from `low` to `high`; raises InvalidValueError for anything else."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidValueError(f"expected a number from {low:g} to {high:g}, got {brief(value)}")
    return float(value)


# Input from other processes may name what is known, and import nothing; of files, see `base/files.py`.


def check_import(path: str, what: str) -> None:
    """Raise InvalidValueError for the dotted `path` of a class where the input is remote: an import runs code."""
    if is_remote():
        raise InvalidValueError(
            f"{what}: {path[:80]!r} is the path of a class, and messages may not import; give a registered name"
        )


# Regular expressions from other processes. Python tries one way to match after the other, which for `(a+)+b` takes
# longer than anybody can wait, and cannot be interrupted: so the ways that there may be are counted before each name.


LONGEST = 256
"""Characters of an expression."""
MOST_WORK = 2e7
"""Ways to match that may be tried with one name, and with many before time is taken: about a second at most."""
MOST_SECONDS = 1.0
"""Of the processor, for one expression after that. Most names of many do not match, which takes next to no time."""
_PARSER: Any = vars(re).get("_parser") or import_module("sre_parse")
_PLAIN = ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT")


def searcher(text: str, what: str = "expression") -> Callable[[str], bool]:
    """Return what tells whether some part of a name matches an expression; it raises where that is too much work.

    Raises InvalidValueError where the expression is wrong, or too long, or looks around or back.
    """
    shown, work, spent = f"{what}: {text[:80]!r}", 0.0, 0.0
    if len(text) > LONGEST:
        raise InvalidValueError(f"{what}: expected at most {LONGEST} characters, got {len(text)}")
    # What POSIX calls a class; read as letters it would match something else.
    if "[[" in text:
        raise InvalidValueError(f"{shown} is not a regular expression: [ in a set is not known; \\d, \\w and \\s are")
    try:
        parsed, compiled = _PARSER.parse(text), re.compile(text)
        _ways(parsed, 1)
    except (re.error, ValueError, OverflowError, RecursionError) as error:
        raise InvalidValueError(f"{shown} is not a regular expression: {error}") from error

    # Counting takes longer than matching, and most names have one of a few lengths. From any character of the name on.
    of_length = cache(lambda length: (length + 1) * _ways(parsed, length))

    def matches(name: str) -> bool:
        nonlocal work, spent
        ways = of_length(len(name))
        work += ways
        if ways > MOST_WORK or spent > MOST_SECONDS:
            most = f"{MOST_WORK:,.0f} ways to match a name" if ways > MOST_WORK else f"{MOST_SECONDS:g} s"
            raise InvalidValueError(f"{shown} takes too long to match, more than {most}; make it simpler")
        if work <= MOST_WORK:
            return compiled.search(name) is not None
        begin = thread_time()
        found = compiled.search(name) is not None
        spent += thread_time() - begin
        return found

    return matches


def _ways(nodes: Any, length: int) -> float:
    """Return in how many ways nodes of an expression may match in a name of `length`, at most; raises re.error."""
    ways = 1.0
    for kind, content in nodes:
        if str(kind) in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, body = content
            times = max(low, min(int(high), length))
            within = _ways(body, length)
            # Rather than a number that is too large for one.
            ways *= (times + 1) * (within**times if within == 1.0 or (times < 100 and within < 1e3) else math.inf)
        elif str(kind) == "BRANCH":
            ways *= sum(_ways(branch, length) for branch in content[1])
        elif str(kind) == "SUBPATTERN":
            ways *= _ways(content[-1], length)
        elif str(kind) not in _PLAIN:
            raise re.error(f"{str(kind).lower()} is not known")
    return ways
