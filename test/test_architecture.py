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

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fleet_sim"


@cache
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
PARTS = {name for _, parts in LAYERS for name in parts}


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


@cache
def floor_of(module: Path) -> str:
    """The part whose imports `module` may have: what speaks ROS for a part below stands on the floor of `ros`."""
    speaks = part_of(module) in {*features(), "sites"} and module.name in ("ros.py", "named_poses.py")
    return "ros" if speaks else part_of(module)


def allowed_in(module: Path) -> set[str]:
    """The parts that `module` may import."""
    return allowed_for(floor_of(module))


Found = list[tuple[int, str]]
"""Lines, with the dotted names that stand in them."""


@cache
def names_in(module: Path) -> tuple[Found, Found]:
    """What `module` imports, at any depth, and the modules of fleet_sim in its strings, docstrings left out."""
    imports, strings, prose = Found(), Found(), set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imports.extend((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: write imports in full, not relative"
            imports.extend((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Expr):
            # The walk comes to a statement before it comes to what is in it.
            prose.add(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            strings.extend((node.lineno, name) for name in re.findall(r"\bfleet_sim(?:\.\w+)+", node.value))
    return imports, strings


def imports_of(module: Path) -> Found:
    return names_in(module)[0]


def strings_of(module: Path) -> Found:
    return names_in(module)[1]


# Each rule is one test that names every fault of the tree: one test for each module took longer than what it tests.
def imports_of_others(module: Path) -> Iterator[str]:
    """The faults of what `module` imports from the package."""
    part = part_of(module)
    if part == "__init__":
        return
    allowed, outermost = allowed_in(module), part in LAYERS[-1][1]
    for line, name in imports_of(module):
        first, _, rest = name.partition(".")
        if first != "fleet_sim":
            continue
        target = rest.split(".")[0]
        if target in PARTS:
            if target not in allowed:
                yield f"{module}:{line}: {part} must not import {target}"
        elif not outermost:
            # The package re-exports names for its users; inside, that would be a way around the order.
            yield f"{module}:{line}: import from the module that defines {name}, not from fleet_sim"


def test_imports_point_one_way() -> None:
    assert [fault for module in MODULES for fault in imports_of_others(module)] == []


def test_views_know_no_feature() -> None:
    """What a page says and plots of a feature is the feature's own, see `Feature` and `CountsDeliveries`."""
    named = {"traffic", *features()}
    assert [
        f"{module}:{line}: {name}"
        for module in MODULES
        if module.is_relative_to(PACKAGE / "viewer" / "web")
        for line, name in imports_of(module)
        if name.split(".")[1:2] and name.split(".")[1] in named
    ] == []


def test_no_string_names_a_module_of_a_floor_above() -> None:
    named = (
        (module, line, name)
        for module in MODULES
        if part_of(module) != "__init__"
        for line, name in strings_of(module)
        if name.split(".")[1] in PARTS and (str(module.relative_to(PACKAGE)), name) not in NAMED
    )
    assert [
        f"{module}:{line}: {part_of(module)} must not name {name}"
        for module, line, name in named
        if name.split(".")[1] not in allowed_in(module)
    ] == []


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


def test_foreign_modules_stay_in_their_part() -> None:
    foreign = (
        (module, line, name.split(".")[0])
        for module in MODULES
        for line, name in imports_of(module)
        if name.split(".")[0] in RESERVED
    )
    assert [
        f"{module}:{line}: only {RESERVED[name]} may import {name}"
        for module, line, name in foreign
        if floor_of(module) not in RESERVED[name]
    ] == []


def test_importing_fleet_sim_loads_nothing_heavy() -> None:
    code = f"import sys, fleet_sim; print(*set({sorted([*RESERVED, 'numpy', 'yaml'])}) & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_fleet_sim_can_be_imported_without_the_modules_of_one_platform() -> None:
    code = "import sys; sys.modules['resource'] = None; import fleet_sim.simulation"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_import_of_ours_is_taken_for_a_package_that_is_missing() -> None:
    """Where a missing package is handled, only others are imported: a slip of ours would remove a part in silence."""
    missing = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Most files handle none of them, and parsing all takes long.
        for node in ast.walk(ast.parse(text)) if re.search("|".join(missing), text) else ():
            caught: list[ast.expr | None] = []
            if isinstance(node, ast.Try):
                caught = [handler.type for handler in node.handlers]
            elif isinstance(node, ast.With):
                calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
                caught = [one for call in calls if ast.unparse(call.func).endswith("suppress") for one in call.args]
            names = {ast.unparse(one) for kind in caught if kind is not None for one in ast.walk(kind)}
            if not isinstance(node, (ast.Try, ast.With)) or not names & missing:
                continue
            for inner in (step for line in node.body for step in ast.walk(line)):
                imported = [getattr(inner, "module", None) or ""] if isinstance(inner, ast.ImportFrom) else []
                imported += [alias.name for alias in inner.names] if isinstance(inner, ast.Import) else []
                if any(name.partition(".")[0] == "fleet_sim" for name in imported):
                    wrong.append(f"{path.relative_to(ROOT)}:{inner.lineno}")
    assert wrong == []
