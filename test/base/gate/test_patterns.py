"""Expressions from other processes match as Python's do, in bounded time."""

from __future__ import annotations

import re
import time

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.gate import searcher

NAMES = ["", "a", "ab", "aab", "robot_0", "robot_12", "shelf", "b", "abab", "x.y", "]", "-", "a b"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "^a",
        "b$",
        "a|b",
        "(ab)+$",
        "^(?:a|b)*$",
        "robot_[0-9]+",
        "robot_\\d$",
        "[^a]",
        "[]]",
        ".*_.*",
        "a?b",
        "()",
    ]
    + ["a{2}", "^a{1,2}b", "x\\.y", "\\w+\\s\\w", "^(robot|agv)_[0-9]{1,3}$"],
)
def test_it_agrees_with_python(text: str) -> None:
    matches, wanted = searcher(text), re.compile(text)
    assert [matches(name) for name in NAMES] == [bool(wanted.search(name)) for name in NAMES]


@pytest.mark.parametrize(
    "text",
    ["^(a+)+b$", "(a*)*b", "(a|aa)*b", "a*a*a*a*a*a*b", "(a?){50}a{50}", "a?" * 50 + "a" * 50, "(a|a)" * 40 + "b"]
    + ["((((){1000}){1000}){1000}){1000}"],
)
def test_what_would_take_long_is_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(InvalidValueError, match="too long to match"):
        searcher(text)("a" * 40 + "c")
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize(
    "text",
    ["(", ")", "[", "*", "a{2,1}", "\\", "(a)\\1", "(?=a)", "(?<!a)", "a" * 257, "(" * 200, "[z-a]"]
    # What POSIX calls a class would match other names silently.
    + ["[[:alpha:]]+", "[[.a.]]", "[[=a=]]"],
)
def test_what_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        searcher(text)


def test_ten_thousand_names_are_matched() -> None:
    matches = searcher("^robot_[0-9]*7$")
    assert sum(matches(f"robot_{index}") for index in range(10_000)) == 1000
    with pytest.raises(InvalidValueError, match="too long to match"):
        [matches("long" * 60) for _ in range(100_000)]
