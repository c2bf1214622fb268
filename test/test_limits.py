"""Classes do one thing, types are named, and tests use public names."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PUBLIC_METHODS = 25
# The share of arguments that are annotated with Any, in percent. Lower a number when fewer are left.
LOOSE: dict[str, float] = {
    "src/fleet_sim": 5.0,
    "src/pocket_ros/pocket_ros": 12.0,
    "test": 8.0,
    "src/pocket_ros/test": 17.0,
}
# Tests use public names: so many uses of private ones of other objects are left in each folder.
PRIVATE = {"test": 7, "src/pocket_ros/test": 1}
OWN = ("self", "cls")
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


@dataclass
class Sizes:
    """The wide classes of a file with the numbers of their public methods, and its annotated arguments."""

    wide: dict[str, int] = field(default_factory=dict)
    arguments: int = 0
    any_arguments: int = 0


@cache
def sizes(path: Path) -> Sizes:
    found = Sizes()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef) and len(public_methods(node)) > PUBLIC_METHODS:
            found.wide[node.name] = len(public_methods(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            count_arguments(node.args, found)
    return found


def count_arguments(arguments: ast.arguments, found: Sizes) -> None:
    """Add the annotated arguments of a function, and those that are Any; `*args` and `**kwargs` are left out."""
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.annotation is not None:
            found.arguments += 1
            found.any_arguments += isinstance(argument.annotation, ast.Name) and argument.annotation.id == "Any"


def public_methods(node: ast.ClassDef) -> list[str]:
    """The names of what a class adds for its users; a property with a setter, or an overload, is one name."""
    names = (item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
    return [name for name in dict.fromkeys(names) if not name.startswith("_")]


def wide_classes() -> dict[str, int]:
    """Every class of fleet_sim with more public methods than most may have, and how many."""
    return {
        name: count
        for path in FILES
        if path.is_relative_to(ROOT / "src" / "fleet_sim")
        for name, count in sizes(path).wide.items()
    }


def test_classes_do_one_thing() -> None:
    left = {name: count for name, count in wide_classes().items() if name not in WIDE}
    assert left == {}, f"more than {PUBLIC_METHODS} public methods: give a part of what it does a class of its own"


def test_wide_classes_are_still_wide() -> None:
    assert sorted(WIDE) == sorted(wide_classes())


@pytest.mark.parametrize("folder", LOOSE)
def test_loose_types_get_fewer(folder: str) -> None:
    found = [sizes(path) for path in FILES if path.is_relative_to(ROOT / folder)]
    loose = 100.0 * sum(size.any_arguments for size in found) / sum(size.arguments for size in found)
    assert loose <= LOOSE[folder], "give arguments the type of what they take"


def private_names(path: Path) -> list[str]:
    """The uses of private names of anything but `self` and `cls`, and the imports of private names."""
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Attribute) and not (isinstance(node.value, ast.Name) and node.value.id in OWN):
            names = [node.attr]
        private = [name for name in names if name.startswith("_") and not name.startswith("__")]
        found += [f"{name_of(path)} {name}" for name in private]
    return found


@pytest.mark.parametrize("folder", PRIVATE)
def test_tests_use_public_names(folder: str) -> None:
    found = [name for path in FILES if path.is_relative_to(ROOT / folder) for name in private_names(path)]
    assert len(found) <= PRIVATE[folder], found
