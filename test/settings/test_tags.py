"""What files may say beyond YAML: arithmetic, other files, paths."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.errors import ConfigError, InvalidValueError
from fleet_sim.settings import load_mapping
from fleet_sim.settings.expressions import Expression


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_arithmetic_inclusion_and_paths(tmp_path: Path) -> None:
    write(tmp_path / "parts", "robot.yaml", "radius: !np 3 / 8\nmesh: !relpath robot.obj\n")
    path = write(tmp_path, "a.yaml", "angle: !np -pi / 2\nrobot: !include parts/robot.yaml\nn: !np n * 2\n")
    assert load_mapping(path, values={"n": 4}) == {
        "angle": -math.pi / 2,
        "robot": {"radius": 0.375, "mesh": str(tmp_path / "parts" / "robot.obj")},
        "n": 8,
    }


def test_comments_about_templates_are_comments(tmp_path: Path) -> None:
    assert load_mapping(write(tmp_path, "a.yaml", "# not <{ this }>\na: 1  # nor <{ that }>\n")) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !np 1 +", "a.yaml: line 1: '1 \\+' is not an expression"),
        ("a: !np tau", "line 1: unknown name 'tau' in 'tau'"),
        ("a: !np [1, 2]", "line 1: !np takes one text"),
        ("a: !include b.yaml", "b.yaml: there is no such file"),
        ("a: !include a.yaml", "include each other more than 20 deep"),
        ("a: 1\n#%> set h = 3\n", r"a.yaml: line 2: .*#%> set h = 3.* is a statement of a Jinja template"),
        (
            "size: [<{ width }>, 3]",
            r"line 1: .* is an expression of a Jinja template, .* write the value, `!np pi / 4`",
        ),
        ("a: <% if b %>1<% endif %>", r"line 1: .* Jinja"),
        ("a: !includes a.yaml", "could not determine a constructor for the tag '!includes'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_mapping(write(tmp_path, "a.yaml", text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 ** 3 - 7 // 2 % 2", 7),
        ("min(3, 4) + abs(-1)", 4),
        ("[1, 2 * 3]", [1, 6]),
        ("1 < x <= 3 and not x == 2", True),
        ("m['a b'] > 1 or y", True),
        ("round(degrees(pi))", 180),
        ("deg2rad(180) == pi and rad2deg(pi) == 180", True),
    ],
)
def test_expressions(text: str, value: Any) -> None:
    assert Expression(text).value({"x": 3, "m": {"a b": 2}, "y": 0}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "(1).real",
        "x.y",
        "[i for i in x]",
        "lambda: 1",
        "f'{x}'",
        "min(key=1)",
        "1 if x else 2",
        "x := 1",
        "b'a'",
        "1j",
        "x in y",
        "x | y",
    ],
)
def test_code_is_not_an_expression(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Expression(text)


@pytest.mark.parametrize("text", ["1 / 0", "9 ** 999", "'a' * 9", "sqrt(-1)", "x + 1", "min(1)"])
def test_expressions_without_a_value(text: str) -> None:
    with pytest.raises(InvalidValueError):
        Expression(text).value({})
