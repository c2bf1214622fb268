"""Regular expressions from other processes, matched in linear time: all ways to match are followed at once.

Python's own matcher tries one way after the other, which for `(a+)+b` takes longer than anybody can wait, and cannot be
interrupted. What is known here is what POSIX calls extended: `.` `[...]` `(...)` `|` `*` `+` `?` `{m,n}` `^` `$`, and
`\\d` `\\w` `\\s` besides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fleet_sim.errors import InvalidValueError

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
