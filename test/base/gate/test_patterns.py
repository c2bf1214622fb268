"""Expressions from other processes match as Python's do, in bounded time."""

from __future__ import annotations

import random
import re

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.gate import Pattern

NAMES = ["", "a", "ab", "aab", "robot_0", "robot_12", "shelf", "b", "abab", "x.y", "]", "-", "a b"]


@pytest.mark.parametrize(
    "text",
    ["", "a", "^a", "b$", "^$", "a|b", "(ab)+$", "^(?:a|b)*$", "robot_[0-9]+", "robot_\\d$", "[^a]", "[]]", "[a-]", "."]
    + ["a{02}", "^a{00000000001}b", "[a[]", "[a-b]$", "[*-,]$"]
    + ["a{2}", "^a{1,2}b", "a{0,}b", "x\\.y", "(^a|b$)", "a?b", "^(a?){3}b$", "\\w+\\s\\w", "$^", "a**", "()", "(|a)b"],
)
def test_it_agrees_with_python(text: str) -> None:
    pattern = Pattern(text)
    wanted = re.compile(text.replace("**", "*"))
    assert [pattern.search(name) for name in NAMES] == [bool(wanted.search(name)) for name in NAMES]


def test_random_expressions_agree_with_python() -> None:
    draw = random.Random(3)

    def some(depth: int) -> str:
        kind = draw.randrange(7 if depth else 2)
        if kind < 2:
            return draw.choice("ab.")
        if kind < 4:
            return some(depth - 1) + some(depth - 1)
        if kind == 4:
            return f"({some(depth - 1)}|{some(depth - 1)})"
        return f"({some(depth - 1)}){draw.choice(['*', '+', '?', '{1,2}'])}"

    for _ in range(300):
        text = draw.choice(["", "^"]) + some(4) + draw.choice(["", "$"])
        if len(text) > 120:
            continue
        pattern, wanted = Pattern(text), re.compile(text)
        for _ in range(5):
            name = "".join(draw.choice("abc") for _ in range(draw.randrange(8)))
            assert pattern.search(name) == bool(wanted.search(name)), (text, name)


@pytest.mark.parametrize("text", ["^(a+)+b$", "(a*)*b", "(a|a)*b", "a*a*a*a*a*a*b", "(a?){50}a{50}"])
def test_what_python_would_never_finish_is_quick(text: str) -> None:
    assert not Pattern(text).search("a" * 40 + "c")


@pytest.mark.parametrize(
    "text",
    ["(", ")", "[", "*", "a{", "a{2,1}", "a{x}", "\\", "\\1", "\\b", "(?=a)", "(?P<n>a)", "a" * 257, "(a{900}){900}"]
    + ["((((){1000}){1000}){1000}){1000}"]
    + ["a{99999999999999999999}", "(" * 200]
    # What POSIX calls a class, a range that falls, and one that ends in an escape would match other names silently.
    + ["[[:alpha:]]+", "[[.a.]]", "[[=a=]]", "[z-a]", r"[!-\]]"],
)
def test_what_is_wrong_or_too_large_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Pattern(text)


def test_too_much_work_is_refused() -> None:
    pattern = Pattern("(.?){400}x")
    with pytest.raises(InvalidValueError, match="too long to match"):
        [pattern.search(f"{index:b}" * 20) for index in range(1000)]
