"""Expressions from other processes match as Python's do, in bounded time."""

from __future__ import annotations

import re
import time

import pytest

from fleet_sim.base import limits
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.limits import searcher

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
    ["(", ")", "[", "*", "a{2,1}", "(?a)(?u)a", "\\", "(a)\\1", "(?=a)", "(?<!a)", "a" * 257, "(" * 200, "[z-a]"]
    # What POSIX calls a class would match other names silently.
    + ["[[:alpha:]]+", "[[.a.]]", "[[=a=]]"],
)
def test_what_is_wrong_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        searcher(text)


@pytest.mark.parametrize("text", ["^robot_[0-9]*7$", ".*robot_.*7$", "hall_[0-9]+_robot_[0-9]*7", "hall.*robot.*7"])
def test_ten_thousand_names_are_matched(text: str) -> None:
    matches = searcher(text)
    start = "" if text[0] == "^" else "hall_12_"
    assert sum(matches(f"{start}robot_{index:05}") and index % 10 == 7 for index in range(10_000)) == 1000


def test_what_takes_long_with_many_names_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_SECONDS", 0.1)
    matches = searcher(".*.*b")
    with pytest.raises(InvalidValueError, match="too long to match"):
        [matches("a" * 255) for _ in range(10_000)]


def test_the_same_count_serves_all_names_of_a_length() -> None:
    matches, begin = searcher("a" * 256), time.thread_time()
    assert not any(matches("b" * (index % 20)) for index in range(20_000))
    assert time.thread_time() - begin < 0.5
