"""Imports point one way.

Every import counts: at the top, inside functions, and under TYPE_CHECKING, since the reader of a file
depends on its types as well. Modules and packages directly under `fleet_sim` are the parts.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "fleet_sim"

# A part may import any part of an earlier line. Within a chain it may also import the parts to its left,
# within a group none: those meet in columns, commands and events.
CHAIN, GROUP = "chain", "group"
LAYERS: list[tuple[str, list[str]]] = [
    (
        CHAIN,
        [
            "errors",
            "arrays",
            "images",
            "settings",
            "paths",
            "spatial",
            "geometry",
            "tools",
            "config",
            "monitor",
        ],
    ),
    (GROUP, ["core"]),
    (CHAIN, ["meshes", "models", "kinematics"]),
    (GROUP, ["bullet", "entities"]),
    (GROUP, ["motion", "collision", "actions", "sensors"]),
    (CHAIN, ["facade", "runner", "simulation"]),
    (GROUP, ["swarm", "manipulation"]),
    (GROUP, ["envs", "ros", "viewer", "record", "cli"]),
]
# Modules outside the standard library that only these parts may import.
RESERVED = {
    "pybullet": {"bullet"},
    "pybullet_data": {"bullet", "models"},
    "moderngl": {"sensors"},
    "PIL": {"sensors", "swarm"},
    "rclpy": {"ros"},
    "fleet_sim_msgs": {"ros"},
    "tf2_ros": {"ros"},
    "gymnasium": {"envs"},
    "pettingzoo": {"envs"},
    "tkinter": {"viewer"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def part_of(module: Path) -> str:
    """The part a file belongs to: the name of the module or package directly under fleet_sim."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def allowed_for(part: str) -> set[str]:
    """The parts that `part` may import, itself included."""
    allowed: set[str] = set()
    for kind, parts in LAYERS:
        if part in parts:
            return allowed | ({part} if kind == GROUP else set(parts[: parts.index(part) + 1]))
        allowed.update(parts)
    raise AssertionError(f"{part!r} has no place in LAYERS; put it where its imports point")


def imports_of(module: Path) -> Iterator[tuple[int, str]]:
    """Every (line, dotted name) that `module` imports, at any depth."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write imports in full, not relative"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(module: Path) -> None:
    part = part_of(module)
    if part == "__init__":
        return
    allowed, outermost = allowed_for(part), part in LAYERS[-1][1]
    for line, name in imports_of(module):
        first, _, rest = name.partition(".")
        if first != "fleet_sim":
            continue
        target = rest.split(".")[0]
        known = {name for _, parts in LAYERS for name in parts}
        if target in known:
            assert target in allowed, f"{module}:{line}: {part} must not import {target}"
        else:
            # The package re-exports names for its users; inside, that would be a way around the order.
            assert outermost, f"{module}:{line}: import from the module that defines {name}, not from fleet_sim"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_foreign_modules_stay_in_their_part(module: Path) -> None:
    for line, name in imports_of(module):
        owners = RESERVED.get(name.split(".")[0])
        assert owners is None or part_of(module) in owners, f"{module}:{line}: only {owners} may import {name}"


def test_importing_fleet_sim_loads_nothing_heavy() -> None:
    code = f"import sys, fleet_sim; print(*set({sorted(RESERVED)}) & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
