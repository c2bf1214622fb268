"""Imports point one way.

Every import counts: at the top, inside functions, under TYPE_CHECKING, since the reader of a file depends on its types
as well, and the name of a module in a string, which is an import that tools do not see. Modules and packages directly
under `fleet_sim` are the parts.
"""

from __future__ import annotations

import ast
import configparser
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fleet_sim"


def features() -> list[str]:
    """The parts that are features and nothing else: of those that setup.cfg declares, some have others above them."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    points = setup["options.entry_points"].get("fleet_sim.features", "")
    return sorted(set(re.findall(r"= *fleet_sim\.(\w+)", points)) - {"traffic", "equipment", "motion"})


# A part may import any part of an earlier line. Within a chain it may also import the parts to its left,
# within a group none: those meet in columns, commands and events.
CHAIN, GROUP = "chain", "group"
LAYERS: list[tuple[str, list[str]]] = [
    (
        CHAIN,
        [
            "exports",
            "errors",
            "arrays",
            "output",
            "parallel",
            "cdr",
            "gate",
            "registry",
            "saved_classes",
            "images",
            "settings",
            "paths",
            "spatial",
            "geometry",
            "kernels",
            "tools",
            "config",
            "monitor",
        ],
    ),
    (GROUP, ["core"]),
    (CHAIN, ["meshes", "models", "kinematics"]),
    (GROUP, ["bullet", "entities", "mujoco"]),
    (GROUP, ["motion", "collision", "actions", "sensors"]),
    (CHAIN, ["queries", "facade", "simulation", "plugins"]),
    (CHAIN, ["sites", "traffic", "equipment"]),
    (GROUP, [*features(), "swarm", "manipulation"]),
    (CHAIN, ["sweeps"]),
    (GROUP, ["envs", "ros", "record", "viewer", "verification", "reports"]),
    (CHAIN, ["cli"]),
]
# Modules outside the standard library that only these parts may import.
RESERVED = {
    "mujoco": {"mujoco"},
    "pybullet": {"bullet"},
    "pybullet_data": {"bullet", "models"},
    "moderngl": {"sensors"},
    "numba": {"kernels"},
    "ray": {"parallel", "envs"},
    "mcap": {"record"},
    "rosbags": {"record"},
    "PIL": {"sensors", "sites", "swarm"},
    "rclpy": {"ros"},
    "fleet_sim_msgs": {"ros"},
    "tf2_ros": {"ros"},
    "gymnasium": {"envs"},
    "pettingzoo": {"envs"},
    "tkinter": {"monitor", "viewer"},
    "viser": {"viewer"},
    "paho": {"vda5050"},
    "amqtt": {"vda5050"},
}
# Strings that name a module of a floor above, each with the reason why it may.
NAMED: dict[tuple[str, str], str] = {}
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


def floor_of(module: Path) -> str:
    """The part whose imports `module` may have: a feature's `ros.py` stands on the floor of `ros`."""
    feature = part_of(module) in features() and module.relative_to(PACKAGE).parts[1:] == ("ros.py",)
    return "ros" if feature else part_of(module)


def allowed_in(module: Path) -> set[str]:
    """The parts that `module` may import."""
    return allowed_for(floor_of(module))


@cache
def tree_of(module: Path) -> ast.Module:
    """The parsed source of `module`."""
    return ast.parse(module.read_text(encoding="utf-8"))


def imports_of(module: Path) -> Iterator[tuple[int, str]]:
    """Every (line, dotted name) that `module` imports, at any depth."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write imports in full, not relative"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def strings_of(module: Path) -> Iterator[tuple[int, str]]:
    """Every (line, dotted name) of a module of fleet_sim that stands in a string of `module`, docstrings left out."""
    prose = {node.value for node in ast.walk(tree_of(module)) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            for name in re.findall(r"\bfleet_sim(?:\.\w+)+", node.value):
                yield node.lineno, name


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(module: Path) -> None:
    part = part_of(module)
    if part == "__init__":
        return
    allowed, outermost = allowed_in(module), part in LAYERS[-1][1]
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
def test_no_string_names_a_module_of_a_floor_above(module: Path) -> None:
    part = part_of(module)
    if part == "__init__":
        return
    known = {name for _, parts in LAYERS for name in parts}
    for line, name in strings_of(module):
        target = name.split(".")[1]
        if target in known and (str(module.relative_to(PACKAGE)), name) not in NAMED:
            assert target in allowed_in(module), f"{module}:{line}: {part} must not name {name}"


def name_of(module: Path) -> str:
    """The dotted name of a module; a package has that of its folder."""
    parts = module.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph() -> dict[str, set[str]]:
    """The modules that each module names in its imports; types count, packages passed on the way do not."""
    names = {name_of(module) for module in MODULES}
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        found = {name if name in names else name.rpartition(".")[0] for _, name in imports_of(module)}
        graph[name_of(module)] = found & names - {name_of(module)}
    return graph


# Modules that nothing in the package imports, because users do.
PUBLIC = {
    "fleet_sim.envs.fleet_navigation": "imported by its name, as PettingZoo's environments are",
    "fleet_sim.envs.fleet_warehouse": "imported by its name, as PettingZoo's environments are",
    "fleet_sim.envs.rllib": "imported by its name; it needs RLlib",
    "fleet_sim.envs.stable_baselines": "imported by its name; it needs Stable-Baselines3",
    "fleet_sim.ros.launching": "for launch files, ours and others'",
    "fleet_sim.ros.nav2.launching": "launch files import it",
}


def entry_points() -> set[str]:
    """The modules that the package declares to others, by commands and by its own seams for parts above."""
    config = configparser.ConfigParser()
    config.read(PACKAGE.parents[1] / "setup.cfg", encoding="utf-8")
    declared = "\n".join(config["options.entry_points"].values())
    return set(re.findall(r"=\s*(fleet_sim(?:\.\w+)+):", declared))


def test_every_part_has_a_place_and_every_place_a_part() -> None:
    listed = [name for _, parts in LAYERS for name in parts]
    assert sorted(listed) == sorted({part_of(module) for module in MODULES} - {"__init__"})


def test_every_module_is_imported_declared_or_public() -> None:
    graph = import_graph()
    packages = {name_of(module) for module in MODULES if module.name == "__init__.py"}
    unused = graph.keys() - packages - set[str]().union(*graph.values())
    assert unused - entry_points() == PUBLIC.keys()


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The largest sets of nodes in which each can be reached from each."""

    @cache
    def reached(start: str) -> frozenset[str]:
        seen, waiting = set(), [start]
        while waiting:
            for name in graph[waiting.pop()]:
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)
        return frozenset(seen)

    found = {frozenset(other for other in reached(name) if name in reached(other)) for name in graph}
    return [set(circle) for circle in found if circle]


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "e"}, "e": {"d"}}
    assert sorted(map(sorted, circles(graph))) == [["b", "c"], ["d", "e"]]


def test_no_modules_import_each_other() -> None:
    assert [sorted(circle) for circle in circles(import_graph())] == []


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_foreign_modules_stay_in_their_part(module: Path) -> None:
    for line, name in imports_of(module):
        owners = RESERVED.get(name.split(".")[0])
        assert owners is None or floor_of(module) in owners, f"{module}:{line}: only {owners} may import {name}"


def test_importing_fleet_sim_loads_nothing_heavy() -> None:
    code = f"import sys, fleet_sim; print(*set({sorted(RESERVED)}) & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_fleet_sim_can_be_imported_without_the_modules_of_one_platform() -> None:
    code = "import sys; sys.modules['resource'] = None; import fleet_sim.simulation"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
