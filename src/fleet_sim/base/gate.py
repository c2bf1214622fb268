"""What may come in from outside: bounds of numbers and texts, JSON and YAML, folders, patterns in linear time.

Squares, sums of squares and products with time steps of numbers within these bounds stay finite.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
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


# Regular expressions from other processes, matched in linear time: all ways to match are followed at once. Python's
# own matcher tries one way after the other, which for `(a+)+b` takes longer than anybody can wait, and cannot be
# interrupted. What is known here is what POSIX calls extended: `.` `[...]` `(...)` `|` `*` `+` `?` `{m,n}` `^` `$`,
# and `\d` `\w` `\s` besides.


LONGEST = 256
"""Characters of an expression."""
MOST_STATES = 1000
MOST_ROUNDS = 10_000
"""Repetitions of what is repeated, those within others counted each time: an empty group adds no states."""
MOST_WORK = 200_000
"""States looked at by one pattern, whatever it is matched with; what was seen before costs nothing."""

Test = Callable[[str], bool]
# Python's own tests of characters, so that names in any script match.
_CLASSES: dict[str, Test] = {
    "d": str.isdigit,
    "w": lambda c: c.isalnum() or c == "_",
    "s": str.isspace,
    "D": lambda c: not c.isdigit(),
    "W": lambda c: not (c.isalnum() or c == "_"),
    "S": lambda c: not c.isspace(),
}


@dataclass
class _State:
    """A place in the expression: where `test` leads with a character, or where `ways` lead without one."""

    test: Test | None = None
    ways: list[int] = field(default_factory=list)
    anchor: str = ""


class Pattern:
    """An expression to search names with. Raises InvalidValueError where it is wrong, too long or too large."""

    def __init__(self, text: str, what: str = "expression") -> None:
        self._what = f"{what}: {text[:80]!r}"
        if len(text) > LONGEST:
            raise InvalidValueError(f"{what}: expected at most {LONGEST} characters, got {len(text)}")
        self._text, self._at = text, 0
        self._states: list[_State] = [_State()]
        self._rounds = 0
        self._end = 0
        first = self._alternatives()(self._end)
        if self._at < len(text):
            raise self._error(f"{text[self._at]!r} at {self._at} closes nothing")
        self._work = 0
        self._begin = self._closure([first], begin=True)
        self._anywhere = self._closure([first], begin=False)
        self._known: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def search(self, name: str) -> bool:
        """Return whether some part of `name` matches; raises InvalidValueError where that is too much work."""
        now = self._begin
        for char in name:
            # Something before matched already.
            if self._end in now:
                return True
            key = (now, char)
            # The deterministic automaton, built only as far as names need it.
            then = self._known.get(key)
            if then is None:
                then = self._known[key] = self._next(now, char)
            now = then
        # At the end of the name `$` leads on, too.
        return self._end in now or self._end in self._closure(sorted(now), begin=not name, end=True)

    # ---- matching ----------------------------------------------------------------------------------------------------

    def _next(self, now: frozenset[int], char: str) -> frozenset[int]:
        self._count(len(now))
        # Only states with a test take a character.
        taken = [state for index in now if (state := self._states[index]).test and state.test(char)]
        reached = [way for state in taken for way in state.ways]
        # A match may begin at any character, so the first states are added each time.
        return self._closure(reached, begin=False) | self._anywhere

    def _closure(self, indices: list[int], *, begin: bool, end: bool = False) -> frozenset[int]:
        """Return all states that are reached from some without a character."""
        seen, open_ = set(indices), list(indices)
        while open_:
            state = self._states[open_.pop()]
            passes = not state.anchor or (begin if state.anchor == "^" else end)
            for way in state.ways if state.test is None and passes else ():
                if way not in seen:
                    seen.add(way)
                    open_.append(way)
        self._count(len(seen))
        return frozenset(seen)

    def _count(self, work: int) -> None:
        self._work += work
        if self._work > MOST_WORK:
            raise InvalidValueError(f"{self._what} takes too long to match; make it simpler")

    # ---- reading: what these return makes states, given the one to go on with, and returns the first of them

    def _alternatives(self) -> Callable[[int], int]:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        return lambda then: self._add(ways=[branch(then) for branch in branches])

    def _sequence(self) -> Callable[[int], int]:
        """Read atoms up to a bar, a bracket or the end; return what makes their states, given the state after them."""
        # Made from the back, as each state has to know where it leads.
        parts: list[Callable[[int], int]] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))

        def make(then: int) -> int:
            for part in reversed(parts):
                then = part(then)
            return then

        return make

    def _repeated(self, atom: Callable[[int], int]) -> Callable[[int], int]:
        while self._at < len(self._text) and self._text[self._at] in "*+?{":
            sign = self._text[self._at]
            self._at += 1
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign) or self._counts()
            atom = self._repeat(atom, low, high)
        return atom

    def _repeat(self, atom: Callable[[int], int], low: int, high: int | None) -> Callable[[int], int]:
        """Return what makes the states of `atom` from `low` to `high` times; without `high` at least `low` times."""

        def make(then: int) -> int:
            """Return the state that begins with the repeated atoms and goes on with state `then`."""
            if high is None:
                # The state to which each round comes back, and from which it can leave.
                loop = self._add(ways=[then])
                self._states[loop].ways.append(atom(loop))
                first = loop
            else:
                first = then
                # From the back: each optional copy leads to the next one or to the end.
                for _ in range(high - low):
                    first = self._add(ways=[atom(first), then])
            for _ in range(low):
                self._rounds += 1
                if self._rounds > MOST_ROUNDS:
                    raise self._error(f"it repeats more than {MOST_ROUNDS} times; make it simpler")
                first = atom(first)
            return first

        return make

    def _counts(self) -> tuple[int, int | None]:
        """Read the rest of {m}, {m,} or {m,n}; None stands for no upper limit. Raises for limits that are too high."""
        close = self._text.find("}", self._at)
        low, comma, high = self._text[self._at : max(close, self._at)].partition(",")
        if close < 0 or not low.isdecimal() or (high and not high.isdecimal()):
            raise self._error("a count is {m}, {m,} or {m,n}")
        self._at = close + 1
        # Cut to nine digits, which is above the limit already: reading thousands of digits takes long.
        low, high = low.lstrip("0") or "0", high and (high.lstrip("0") or "0")
        least, most = int(low[:9]), int(high[:9]) if high else None if comma else int(low[:9])
        if least > MOST_STATES or (most is not None and not least <= most <= MOST_STATES):
            raise self._error(f"counts are in order and at most {MOST_STATES}")
        return least, most

    def _atom(self) -> Callable[[int], int]:
        """Read a group, a set, an anchor or a character; return what makes its state, given the state after it."""
        char = self._text[self._at]
        self._at += 1
        if char == "(":
            if self._text.startswith("?", self._at) and not self._take("?:"):
                raise self._error("only plain groups and (?:...) are known")
            inner = self._alternatives()
            if not self._take(")"):
                raise self._error("missing ), unterminated group")
            return inner
        if char in "^$":
            return lambda then: self._add(ways=[then], anchor=char)
        if char in "*+?{":
            raise self._error(f"{char!r} repeats nothing")
        test = self._set() if char == "[" else self._escaped() if char == "\\" else _is(char) if char != "." else _any
        return lambda then: self._add(test=test, ways=[then])

    def _escaped(self) -> Test:
        if self._at >= len(self._text):
            raise self._error("it ends in a \\")
        char = self._text[self._at]
        self._at += 1
        if char.isalnum() and char not in _CLASSES:
            raise self._error(f"\\{char} is not known")
        return _CLASSES.get(char) or _is(char)

    def _set(self) -> Test:
        """Read the rest of a set in brackets; return the test of a character."""
        negated = self._take("^")
        tests: list[Test] = []
        while not (tests and self._take("]")):
            if self._at >= len(self._text):
                raise self._error("missing ], unterminated set")
            char = self._text[self._at]
            self._at += 1
            if char == "[" and self._text[self._at : self._at + 1] in (":", ".", "="):
                # POSIX's own classes. Read as letters they would match something else.
                raise self._error(f"[{self._text[self._at]} in a set is not known; \\d, \\w and \\s are")
            if char == "\\":
                tests.append(self._escaped())
            elif self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
                tests.append(self._range(char))
            else:
                tests.append(_is(char))
        return lambda c: any(test(c) for test in tests) is not negated

    def _range(self, low: str) -> Test:
        """Read the rest of a range in a set, from the dash on; return the test of a character."""
        high = self._text[self._at + 1]
        self._at += 2
        if high == "\\" or high < low:
            raise self._error(f"{low}-{high} is no range: it goes up to a plain character that is not before its first")
        return lambda char: low <= char <= high

    def _take(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def _add(self, test: Test | None = None, ways: list[int] | None = None, anchor: str = "") -> int:
        if len(self._states) >= MOST_STATES:
            raise self._error(f"it has more than {MOST_STATES} states; make it simpler")
        self._states.append(_State(test, ways or [], anchor))
        return len(self._states) - 1

    def _error(self, reason: str) -> InvalidValueError:
        return InvalidValueError(f"{self._what} is not a regular expression: {reason}")


def _any(char: str) -> bool:
    return True


def _is(wanted: str) -> Test:
    return lambda char: char == wanted
