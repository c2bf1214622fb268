"""Files, functions and classes stay small enough to read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE_LINES = 400
FUNCTION_LINES = 60
PUBLIC_METHODS = 25
# Path, or path::function, to the reason why it may be longer.
EXEMPT: dict[str, str] = {}
# Classes of fleet_sim that may have more public methods of their own, each with the reason.
WIDE: dict[str, str] = {
    "Agent": "its methods are documented; each hands over to the part that does the work",
    "SimObject": "its methods are documented; each hands over to the part that does the work",
    "DocumentedNames": "the documented methods of a simulation, one line each",
    "WorldNames": "the documented methods of a simulation that are about its world, one line each",
}

FILES = sorted(
    path
    for folder in ("src", "test", "bench", "examples", "launch")
    for path in ROOT.joinpath(folder).rglob("*.py")
    if not {"build", "install", "results"} & set(path.relative_to(ROOT).parts)
)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_short(path: Path) -> None:
    name, text = name_of(path), path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    assert lines <= FILE_LINES or name in EXEMPT, f"{name} has {lines} lines; split it ({FILE_LINES} at most)"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            long = (node.end_lineno or node.lineno) - node.lineno + 1
            place = f"{name}::{node.name}"
            assert long <= FUNCTION_LINES or place in EXEMPT, (
                f"{place} has {long} lines; split it ({FUNCTION_LINES} at most)"
            )


def test_exemptions_are_needed_and_explained() -> None:
    for place, reason in EXEMPT.items():
        assert (ROOT / place.split("::")[0]).is_file(), f"{place} is gone; remove its exemption"
        assert reason


def public_methods(node: ast.ClassDef) -> list[str]:
    """The names of what a class adds for its users; a property with a setter, or an overload, is one name."""
    names = (item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def wide_classes() -> dict[str, int]:
    """Every class of fleet_sim with more public methods than most may have, and how many."""
    found = {}
    for path in ROOT.joinpath("src", "fleet_sim").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and len(public_methods(node)) > PUBLIC_METHODS:
                found[node.name] = len(public_methods(node))
    return found


def test_classes_do_one_thing() -> None:
    left = {name: count for name, count in wide_classes().items() if name not in WIDE}
    assert left == {}, f"more than {PUBLIC_METHODS} public methods: give a part of what it does a class of its own"


def test_wide_classes_are_still_wide() -> None:
    assert sorted(WIDE) == sorted(wide_classes())
