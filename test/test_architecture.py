"""Imports point one way.

Every import counts: at the top, inside functions, under TYPE_CHECKING, since the reader of a file depends on its types
as well, and the name of a module in a string, which is an import that tools do not see. The folders directly under
`fleet_sim` are the rooms; `simulation.py` and `plugins.py` stand between them.
"""

from __future__ import annotations

import ast
import configparser
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.world.pipeline import Phase

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "fleet_sim"

# A room may import itself and the rooms before it.
CORE = ["base", "world", "models", "engines", "robots", "sensing", "facade", "simulation", "plugins", "ros"]
PRODUCTS = ["warehouse", "swarm", "learning"]
"""What the core does not know. A product may import the core; what speaks ROS for it is in files called `ros*.py`."""
ROOMS = [*CORE, *PRODUCTS, "apps"]
# Parts of products that speak ROS: a file `ros.py` of any of them, and these folders.
BESIDE = {"sensing": ("engines", "robots"), "robots": ("sensing",)}
"""Rooms of the core on one floor, which do not import each other."""
SPEAKERS = ["apps/lab/ros.py", "warehouse/nav2", "warehouse/rmf/topics.py", "warehouse/sites/ros.py"]
# Modules outside the standard library that only these folders may import.
RESERVED = {
    "mujoco": {"engines/mujoco"},
    "pybullet": {"engines/bullet"},
    "pybullet_data": {"engines/bullet", "models"},
    "moderngl": {"sensing/sensors/render"},
    "numba": {"base/kernels.py", "apps/certify.py"},
    "mcap": {"apps/record"},
    "rosbags": {"apps/record"},
    "PIL": {"base/files.py", "swarm"},
    "rclpy": {"ros", *SPEAKERS},
    "fleet_sim_msgs": {"ros", *SPEAKERS},
    "tf2_ros": {"ros", *SPEAKERS},
    "gymnasium": {"learning/envs"},
    "pettingzoo": {"learning/envs"},
    "tkinter": {"base/monitor_window.py", "apps/viewer"},
    "viser": {"apps/viewer"},
    "paho": {"warehouse/vda5050", "apps/lab"},
    "amqtt": {"warehouse/vda5050"},
}
# Strings that name a module of a room above, each with the reason why it may.
NAMED: dict[tuple[str, str], str] = {}
CORE_PROGRAM = """\
import importlib.metadata as metadata

found = metadata.entry_points


def points_of_the_core(group="", **which):
    points = found(group=group, **which) if group else found(**which)
    return [point for point in points if point.value.split(".")[1] in %s] if "fleet_sim" in group else points


metadata.entry_points = points_of_the_core
import fleet_sim as fs

sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0, timestep=0.05))
sim.spawn_robots_from_config([{"name": "r", "urdf_path": "diff_base", "sensors": [{"type": "lidar", "rays": 9}]}])
shape = fs.ShapeParams(shape_type="box", half_extents=[0.1, 0.1, 0.1])
box = fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(2.0, 1.0, 0.1), name="box")
box, robot = sim.spawn(box), sim.agents[0]
place = fs.Pose.from_xyz(-1.0, 0.5, 0.1)
for action in (fs.MoveTo(fs.Pose.from_xyz(0.5, 0.5, 0.0)), fs.Pick("box"), fs.Drop(place)):
    robot.add_action(action)
sim.run_simulation(60.0)
assert max(abs(box.position[axis] - place.position[axis]) for axis in (0, 1)) < 0.02, box.position
assert sim.sensors.all[0].read() is not None
try:
    import rclpy
except ModuleNotFoundError:
    pass
else:
    import fleet_sim.ros.main
"""
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: Path) -> str:
    """The room a file belongs to: the name of the module or package directly under fleet_sim."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def allowed_in(module: Path) -> set[str]:
    """The rooms that `module` may import. Products do not import each other; they meet in the core."""
    room = room_of(module)
    if room in PRODUCTS:
        return {*CORE, room}
    return set(ROOMS[: ROOMS.index(room) + 1]) - {*BESIDE.get(room, ())}


def is_in(module: Path, folders: set[str]) -> bool:
    """Whether a file is one of `folders` or in one; every `ros.py` of a product speaks ROS."""
    path = module.relative_to(PACKAGE).as_posix()
    if "ros" in folders and module.name == "ros.py" and room_of(module) in PRODUCTS:
        return True
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


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
    room = room_of(module)
    if room == "__init__":
        return
    allowed = allowed_in(module)
    for line, name in imports_of(module):
        first, _, rest = name.partition(".")
        if first != "fleet_sim":
            continue
        target = rest.split(".")[0]
        if target in ROOMS:
            if target not in allowed:
                yield f"{module}:{line}: {room} must not import {target}"
        elif room != "apps":
            # The package re-exports names for its users; inside, that would be a way around the order.
            yield f"{module}:{line}: import from the module that defines {name}, not from fleet_sim"


def test_imports_point_one_way() -> None:
    assert [fault for module in MODULES for fault in imports_of_others(module)] == []


def test_the_view_knows_no_fleet() -> None:
    """What a page says and plots of orders or traffic is their own, see `Feature` and `CountsDeliveries`."""
    assert [
        f"{module}:{line}: {name}"
        for module in MODULES
        if module.is_relative_to(PACKAGE / "apps" / "viewer")
        for line, name in imports_of(module)
        if name.startswith("fleet_sim.warehouse.") and not name.startswith("fleet_sim.warehouse.sites")
    ] == []


def test_no_string_names_a_module_of_a_room_above() -> None:
    named = (
        (module, line, name)
        for module in MODULES
        if room_of(module) != "__init__"
        for line, name in strings_of(module)
        if name.split(".")[1] in ROOMS and (str(module.relative_to(PACKAGE)), name) not in NAMED
    )
    assert [
        f"{module}:{line}: {room_of(module)} must not name {name}"
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
    "fleet_sim.learning.envs.fleet_navigation": "imported by its name, as PettingZoo's environments are",
    "fleet_sim.learning.envs.fleet_warehouse": "imported by its name, as PettingZoo's environments are",
    "fleet_sim.learning.envs.rllib": "imported by its name; it needs RLlib",
    "fleet_sim.learning.envs.stable_baselines": "imported by its name; it needs Stable-Baselines3",
    "fleet_sim.ros.launching": "for launch files, ours and others'",
}


def entry_points() -> set[str]:
    """The modules that the package declares to others, by commands and by its own seams for parts above."""
    config = configparser.ConfigParser()
    config.read(PACKAGE.parents[1] / "setup.cfg", encoding="utf-8")
    declared = "\n".join(config["options.entry_points"].values())
    return set(re.findall(r"=\s*(fleet_sim(?:\.\w+)+):", declared))


def test_every_room_has_a_place() -> None:
    assert sorted(ROOMS) == sorted({room_of(module) for module in MODULES} - {"__init__"})


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


def test_foreign_modules_stay_in_their_rooms() -> None:
    assert [
        f"{module}:{line}: only {sorted(RESERVED[foreign])} may import {foreign}"
        for module in MODULES
        for line, name in imports_of(module)
        if (foreign := name.split(".")[0]) in RESERVED and not is_in(module, RESERVED[foreign])
    ] == []


def test_the_core_works_without_the_products(tmp_path: Path) -> None:
    package = tmp_path / "fleet_sim"
    package.mkdir()
    for name in (*CORE, "__init__", "py"):
        source = next(path for path in PACKAGE.glob(f"{name}*") if path.name.split(".")[0] == name)
        (package / source.name).symlink_to(source)
    program = CORE_PROGRAM % repr(CORE)
    command = [sys.executable, "-c", program]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(command, env=found, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_importing_fleet_sim_loads_nothing_heavy() -> None:
    code = f"import sys, fleet_sim; print(*set({sorted([*RESERVED, 'numpy', 'yaml'])}) & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_fleet_sim_can_be_imported_without_what_not_every_machine_has() -> None:
    # A module of one platform, and packages of extras.
    missing = dict.fromkeys(["resource", "numba", "scipy", "PIL", "moderngl", "paho", "amqtt"])
    code = f"import sys; sys.modules.update({missing}); import fleet_sim.simulation, fleet_sim.warehouse.vda5050.ros"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_import_of_ours_is_taken_for_a_package_that_is_missing() -> None:
    """Where a missing package is handled, only others are imported: a slip of ours would remove a part in silence."""
    missing = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "of_extra"}
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # Most files handle none of them, and parsing all takes long.
        for node in ast.walk(ast.parse(text)) if re.search("|".join(missing), text) else ():
            caught: list[ast.expr | None] = []
            if isinstance(node, ast.Try):
                # Who raises it again, takes it for nothing else.
                again = [
                    any(isinstance(step, ast.Raise) and step.exc is None for step in ast.walk(one))
                    or "end_for_memory(" in ast.unparse(one)
                    for one in node.handlers
                ]
                caught = [one.type for one, raises in zip(node.handlers, again, strict=True) if not raises]
            elif isinstance(node, ast.With):
                calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
                caught = [one for call in calls if ast.unparse(call.func).endswith("suppress") for one in call.args]
                caught += [call.func for call in calls]
            names = {ast.unparse(one) for kind in caught if kind is not None for one in ast.walk(kind)}
            if not isinstance(node, (ast.Try, ast.With)) or not names & missing:
                continue
            for inner in (step for line in node.body for step in ast.walk(line)):
                imported = [getattr(inner, "module", None) or ""] if isinstance(inner, ast.ImportFrom) else []
                imported += [alias.name for alias in inner.names] if isinstance(inner, ast.Import) else []
                if any(name.partition(".")[0] == "fleet_sim" for name in imported):
                    wrong.append(f"{path.relative_to(ROOT)}:{inner.lineno}")
    assert wrong == []


# ---- ARCHITECTURE.md is true: its drawing, step, paths, names and entry points are those of the sources --------------


TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DRAWING = re.findall(r"^```\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[0]
MARKED = re.findall(r"`([^`\n]+)`", TEXT.replace(DRAWING, ""))
ROOMS_PROGRAM = """\
import json, sys
sys.path[:0] = ["test", "test/support"]
import test_architecture
print(json.dumps(test_architecture.ROOMS))
"""
# What a path in the text may be relative to.
BASES = (ROOT, PACKAGE)


def test_the_drawing_has_every_room_above_those_that_it_imports() -> None:
    done = subprocess.run([sys.executable, "-c", ROOMS_PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = [name for name in json.loads(done.stdout) if name != "plugins"]
    drawn = re.findall(r"^([a-z]+) ", DRAWING, re.MULTILINE)
    products = ["warehouse", "swarm", "learning"]
    assert sorted(drawn) == sorted(rooms)
    assert [name for name in drawn if name not in products] == [name for name in rooms[::-1] if name not in products]


def test_folders_in_the_drawing_exist() -> None:
    for room, text in re.findall(r"^([a-z]+) +(.+)$", DRAWING, re.MULTILINE):
        folders = {path.name for path in (PACKAGE / room).glob("*") if path.is_dir()} - {"__pycache__"}
        assert folders <= set(re.findall(r"\w+", text)), room


def test_every_room_is_in_the_table() -> None:
    table = TEXT.split("| room | what it holds | read first |")[1].split("\n\n")[0]
    named = {line.split("|")[1].strip(" `") for line in table.splitlines()[2:]}
    assert named == set(re.findall(r"^([a-z]+) ", DRAWING, re.MULTILINE)) - {"simulation"}


def test_the_step_is_the_one_of_a_simulation(sim: fs.MultiRobotSimulationCore) -> None:
    table = TEXT.split("| phase | systems, in order |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| (\w+) \| (.*) \|$", table, re.MULTILINE))
    told = {name: re.findall(r"`(\w+)`", text.split(":")[0].split(", at")[0]) for name, text in rows.items()}
    made = {
        phase.name.lower(): [system.name for system in sim.pipeline.systems if system.phase is phase] for phase in Phase
    }
    assert told == made


def paths() -> list[str]:
    ending = r"(\.(py|md|cfg|toml|txt|msg|yaml)|/)$"
    found = {mark for mark in MARKED if re.search(ending, mark) and re.fullmatch(r"[\w./-]+", mark)}
    return sorted(found - {"__init__.py", "ros.py"})


def test_every_path_exists() -> None:
    assert len(paths()) > 40
    assert [path for path in paths() if not any((base / path).exists() for base in BASES)] == []


def test_files_that_sources_name_exist() -> None:
    """Docstrings and comments point to `other.py`, or `room/other.py`: files that move leave such lines behind."""
    files = [f"/{file.relative_to(ROOT).as_posix()}" for file in ROOT.rglob("*.py") if ".venv" not in file.parts[1:]]
    wrong = {
        f"{module.relative_to(PACKAGE)}: {name}"
        for module in MODULES
        for name in re.findall(r"`([\w/]+\.py)`", module.read_text(encoding="utf-8"))
        if not any(file.endswith(f"/{name}") for file in files)
    }
    assert not wrong


def test_every_name_is_where_the_text_says() -> None:
    places = re.findall(r"`([A-Z]\w+)` of `([\w/]+)\.py`", TEXT)
    assert len(places) > 10
    for name, path in places:
        if path.startswith("ros/"):
            pytest.importorskip("rclpy")
        if path.startswith("learning/envs/"):
            pytest.importorskip("gymnasium")
        if path.startswith("test/"):
            assert re.search(rf"^{name}\b", (ROOT / f"{path}.py").read_text(encoding="utf-8"), re.MULTILINE)
        else:
            module = importlib.import_module(f"fleet_sim.{path.replace('/', '.').removesuffix('.__init__')}")
            assert hasattr(module, name), f"{path}.py has no {name}"
