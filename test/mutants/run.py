"""Make small changes of the sources by a seed, and count how many the tests notice: `make mutants ARGS="--seed 7"`.

Each mutant is one change in a copy of the tree: a constant, a comparison, a sign, a product, swapped arguments, an
axis, a clip, a dropped statement. The tests nearest to it run until one fails. Only tests that hold a result against an
independent value count: those that compare two runs of the same sources (`TWINS`) are left out. Each mutant that no
test noticed is printed; `equivalent.txt` beside this file lists those that change no result, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
KNOWN = ROOT / ".cache/mutants.json"
"""What earlier runs found about files of tests."""
LOG = Path("mutant.log")
"""In the copy of the tree."""

# Folder of src/fleet_sim -> the oracles that see it first, before all tests of the folder of the same name.
PACKAGES: dict[str, tuple[str, ...]] = {
    "robots/motion": (
        *("motion_steps", "evasion", "orca", "motion_laws", "motion_paths", "cars", "avoidance", "joints"),
        "motion_table",
    ),
    "sensing/collision": ("distances", "meetings", "blocking", "vision"),
    "models/kinematics": ("descents", "wheels", "kinematics", "joints", "dynamics"),
    "robots/actions": ("ways", "actions", "blocked_goals", "blocking", "doors_and_lifts", "ros_goals"),
    "robots": ("entities", "wheels", "joints", "kinematics", "actions", "motion_laws", "written_columns", "dynamics"),
    "sensing/sensors": ("scans", "vision", "body_sensors", "sensor_noise", "ros_sensors"),
    "warehouse/traffic": (
        *("planners", "networks", "paths_in_time", "traffic_law"),
        *("traffic_counts", "traffic", "routes", "routed_robots", "problem_files"),
        *("grants", "zones_of_robots", "planned_lifts", "footprints", "certificates"),
    ),
    "warehouse/orders": (
        *("order_places", "order_requests", "order_choices", "order_work", "order_tables", "orders", "order_queues"),
        "reports",
    ),
    "warehouse/battery": ("batteries", "vda5050", "ros_commands"),
    "warehouse/equipment": ("equipment", "doors_and_lifts"),
    "warehouse/vda5050": ("vda5050", "vda5050_orders", "curves", "factsheet", "vda5050_broker"),
    "warehouse/disturbances": (),
    "warehouse/people": ("people_and_safety",),
    "warehouse/sites": ("building_map",),
    "warehouse/nav2": ("ros_nav2", "ros_behaviors"),
    "warehouse/rmf": ("ros_rmf", "building_map"),
    "ros": ("ros_fields", "ros_commands", "ros_goals", "ros_sensors", "ros_nav2", "ros_namespaces", "ros_fleet"),
    "swarm": ("swarm", "swarm_worlds", "swarm_controllers", "swarm_senses", "swarm_source"),
    "learning/envs": ("envs", "env_worlds"),
    "apps/record": ("records", "playback"),
}
# Begin of a path below src/fleet_sim -> tests that see it before those, also slow ones: much of a node is seen from
# outside only.
NEAREST: dict[str, tuple[str, ...]] = {
    "warehouse/equipment/ros": ("system/test_belts_and_lights",),
    "warehouse/nav2/behaviors": ("oracles/test_ros_behaviors", "system/test_nav2_gps"),
    "warehouse/nav2/planning": ("system/test_nav2_smoothing",),
    "warehouse/nav2/topics": ("system/test_nav2_settings",),
    "warehouse/nav2": ("ros/test_maps_and_paths", "system/test_nav2_teleop", "system/test_nav2"),
    "warehouse/orders/ros": ("oracles/test_ros_fleet", "system/test_orders"),
    "warehouse/sites/ros": ("system/test_standard_services",),
    "warehouse/sites/drawing": ("apps/record/test_recordings", "oracles/test_building_map"),
    "warehouse/vda5050": ("warehouse/disturbances/test_told_to_masters",),
    "warehouse/vda5050/ros": ("ros/test_vehicles",),
    "warehouse/orders/section": ("warehouse/orders/test_orders",),
    "warehouse/rmf": ("oracles/test_ros_rmf", "system/test_rmf"),
    "warehouse/traffic/figures_file": ("apps/cli/test_run_files", "warehouse/traffic/test_traffic_command"),
    "models/kinematics/links": ("oracles/test_cars", "oracles/test_wheels"),
    "robots/dispatch": ("robots/test_dispatch", "base/gate/test_remote"),
    "robots/sim_object": ("engines/both/test_physics_world", "sensing/sensors/test_lidar"),
    "ros/action": ("system/test_actions", "system/test_joints"),
    "ros/launching": ("system/test_launch",),
    "ros/lockstep": ("system/test_lockstep",),
    "ros/main": ("system/test_process",),
    "ros/node": ("apps/record/test_node_recording", "system/test_settings_of_the_node", "system/test_services"),
    "ros/playback": ("system/test_recording",),
    "ros/robot": ("system/test_joints", "system/test_joint_controller"),
    "ros/sensors": ("oracles/test_ros_sensors", "system/test_cameras"),
    "ros/services": ("system/test_services", "system/test_state_services", "system/test_recording"),
    "ros/simulation": ("system/test_standard_services",),
}
TWINS = ("bits", "twin", "compiled", "hash", "snapshot", "determin", "same_run", "same_results", "reproduc", "repeat")
"""Words in the names of tests that compare two runs of the same sources."""

MOST = 240
"""Processor time of the tests of a mutant, in s. After half of it no file of tests begins, and the mutant is late, not
noticed; a file that takes half of it more than without the mutant hangs, which is noticed."""
PATIENCE = 600
"""The same for time that passes, as tests wait for others as well."""
IN_PYTHON = 15.0
"""What kernels may take in Python before a changed one is compiled, in s."""
PRELOADED = (
    *("fleet_sim.base.kernels", "numba", "scipy.optimize", "scipy.spatial", "scipy.stats", "mujoco", "pybullet"),
    *("coal", "pinocchio", "hypothesis", "gymnasium", "pettingzoo", "rclpy", "yaml", "jsonschema", "rosbags"),
)
LEFT_OUT = ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arguments
"""What mutants do not change: texts, what raises, defaults; and these fields."""
NEEDS = {"src/fleet_sim/ros/waiting_messages.py": "rclpy._rclpy_pybind11"}
"""Files whose code only runs where a module is: the C library of a full ROS 2."""
LEFT_FIELDS = ("annotation", "returns", "decorator_list")

# With a number that is not whole, equality makes no difference: there the comparison is turned around.
TURNED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
SYMMETRIC = {"isinstance", "getattr", "hasattr", "cast", "min", "max", "minimum", "maximum", "add", "multiply", "hypot"}
SYMMETRIC |= {"hypot_of", "array_equal", "intersect1d", "suppress", "clip"}
"""Calls whose arguments are not swapped: it would change nothing, or fail at once. A number cut off at both ends is
`min(max(number, least), most)`."""
PAIRS = (("min", "max"), ("minimum", "maximum"), ("sin", "cos"), ("floor", "ceil"))
CALLS = dict(PAIRS) | {second: first for first, second in PAIRS}
AXES = {"x": "y", "y": "x", "vx": "vy", "vy": "vx", "width": "height", "height": "width"}


def package_of(file: str) -> str:
    """Return the innermost folder of PACKAGES that a file is in."""
    inside = file.removeprefix("src/fleet_sim/")
    return max((name for name in PACKAGES if inside.startswith(f"{name}/")), key=len)


@dataclass(frozen=True)
class Mutant:
    """One change: `text` stands in place of what is between two offsets of a file."""

    file: str
    line: int
    begin: int
    end: int
    text: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change that can be made to a file."""
    source = path.read_text(encoding="utf-8")
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data, name = source.encode(), path.relative_to(ROOT).as_posix()

    def change(node: ast.expr | ast.stmt, text: str, kind: str) -> Mutant:
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
        old = " ".join(data[begin:end].decode().split())
        return Mutant(name, node.lineno, begin, end, text, f"{kind}: {old[:60]} -> {' '.join(text.split())[:60]}")

    for node in _code(ast.parse(source), False):
        yield from (change(node, *found) for found in _changes(node))


def _code(node: ast.AST, inside: bool) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements inside functions."""
    # Of the -1 of a shape only the sign counts; `strict` of zip only checks what is so.
    is_shape = getattr(getattr(node, "func", None), "attr", "") == "reshape"
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) and name not in LEFT_FIELDS else [value]:
            if name in LEFT_FIELDS or not isinstance(child, ast.AST) or isinstance(child, LEFT_OUT):
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue
            if inside and isinstance(child, ast.expr | ast.stmt):
                yield child
            if not (is_shape and isinstance(child, ast.UnaryOp)):
                yield from _code(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """New texts for one node, each with the kind of change."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value), "constant"
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield repr(node.value + 1), "constant"
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield repr(node.value * 1.02 or 0.02), "constant"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        inside = ast.walk(node.comparators[0])
        is_real = any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in inside)
        new_operator = (TURNED if is_real else COMPARISONS)[type(node.ops[0])]
        yield f"{ast.unparse(node.left)} {new_operator} {ast.unparse(node.comparators[0])}", "comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
        yield f"({ast.unparse(node.left)}) {OPERATORS[type(node.op)]} ({ast.unparse(node.right)})", "operator"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield ast.unparse(node.operand), "sign"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield ast.unparse(node.operand), "negation"
    elif isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield "(" + word.join(f"({ast.unparse(value)})" for value in node.values) + ")", "condition"
    elif isinstance(node, ast.Attribute) and node.attr in AXES and isinstance(node.ctx, ast.Load):
        yield f"{ast.unparse(node.value)}.{AXES[node.attr]}", "axis"
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "pass", "dropped"


def _calls(node: ast.Call) -> Iterator[tuple[str, str]]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in CALLS:
        head = ast.unparse(node.func).removesuffix(name)
        yield head + CALLS[name] + ast.unparse(node)[len(ast.unparse(node.func)) :], "call"
    if name == "clip" and node.args:
        yield ast.unparse(node.args[0]), "clip"
    plain = [arg for arg in node.args if not isinstance(arg, ast.Starred | ast.Constant)]
    if len(node.args) >= 2 and len(plain) == len(node.args) and name not in SYMMETRIC:
        swapped = ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
        yield ast.unparse(swapped), "swapped"


def _is_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    return isinstance(getattr(node, "value", None), str) or isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def has_module(name: str) -> bool:
    """Return whether a module can be imported."""
    try:
        return find_spec(name) is not None
    except ImportError:
        return False


def draw(seed: int, count: int, packages: list[str]) -> list[Mutant]:
    """Draw mutants, as many of each package and of each kind as of the others where there are so many."""
    generator = random.Random(seed)
    drawn: list[Mutant] = []
    skipped = {line.split("  #")[0].strip() for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()}
    pools: dict[str, dict[str, list[Mutant]]] = {}
    for package in packages:
        pool = pools.setdefault(package, {})
        for path in sorted((ROOT / "src/fleet_sim" / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if package_of(name) != package or (name in NEEDS and not has_module(NEEDS[name])):
                continue
            for mutant in mutants(path):
                if f"{mutant.file}: {mutant.what}" not in skipped:
                    pool.setdefault(mutant.what.split(":")[0], []).append(mutant)
    while len(drawn) < count:
        pool = pools[packages[len(drawn) % len(packages)]]
        kind = generator.choice(sorted(kind for kind in pool if pool[kind]))
        drawn.append(pool[kind].pop(generator.randrange(len(pool[kind]))))
    return drawn


passes: dict[str, bool] = {}
"""Whether tests that failed with a mutant pass without one."""
took: dict[str, float] = {}
"""What each file of tests took, in s."""
seen: Counter[str] = Counter()
"""How often each file of tests noticed a mutant of a file or package before all others."""


def prepare(folder: str) -> None:
    """Copy the tree, in which one mutant at a time will live, and load what is not ours, to be forked for each."""
    copy = Path(folder, str(os.getpid()))
    ignored = shutil.ignore_patterns(".git", ".venv*", "dist", "build", "demo", "fuzz", ".cache", ".*_cache")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    os.chdir(copy)
    sys.path[:0] = places = [str(copy / "src"), str(copy / "src/pocket_ros")]
    os.environ["PYTHONPATH"] = ":".join(places)
    for name in PRELOADED:
        with suppress(ImportError):
            import_module(name)
    if KNOWN.is_file():
        found = json.loads(KNOWN.read_text())
        took.update(found[0])
        seen.update(found[1])


def try_one(mutant: Mutant) -> tuple[Mutant, str, str, float]:
    """Return a mutant, what became of it, the test that noticed it, and the processor time that it took in s."""
    file = Path(mutant.file)
    data, times = file.read_bytes(), file.stat()
    try:
        compile(changed := data[: mutant.begin] + mutant.text.encode() + data[mutant.end :], mutant.file, "exec")
    except SyntaxError:
        return mutant, "invalid", "", 0.0
    while True:
        file.write_bytes(changed)
        os.utime(file, (0, 0))  # unlike that of the file, so that no kept byte code of it is taken
        word, test, seconds = run(tests_of(mutant))
        file.write_bytes(data)
        os.utime(file, (times.st_atime, times.st_mtime))
        if test and test not in passes:
            passes[test] = run([test])[0] == "SURVIVES"
        if not test or passes[test]:
            break
    seen.update(f"{source} {test.partition('::')[0]}" for source in (mutant.file, package_of(mutant.file)) if test)
    KNOWN.parent.mkdir(exist_ok=True)
    KNOWN.write_text(json.dumps([took, seen], indent=1))
    return mutant, word, test, seconds


def tests_of(mutant: Mutant) -> list[str]:
    """The files of tests for a mutant; first those that are most likely to notice it, for the time that they take."""
    package, inside = package_of(mutant.file), mutant.file.removeprefix("src/fleet_sim/")
    oracles = [f"test/oracles/test_{name}.py" for name in PACKAGES[package]]
    near = [f"test/{name}.py" for begin, found in NEAREST.items() if inside.startswith(begin) for name in found]
    files = {*near, *oracles, *map(str, Path("test", package).rglob("test_*.py"))}

    # Tests that name a module or folder of it are about it.
    names = {part for part in Path(inside).with_suffix("").parts if part != package.rpartition("/")[2]}
    naming = {file for file in files if names & words_of(file)}

    def rate(file: str) -> float:
        found = 1 + 5 * seen[f"{mutant.file} {file}"] + seen[f"{package} {file}"]
        near_by = 2 * (file in oracles) + 2 * (file in naming) + 5 * (file in near)
        return (found + near_by) / (1.0 + took.get(file, 4.0))

    return sorted(sorted(file for file in files if Path(file).is_file()), key=rate, reverse=True)


@cache
def words_of(file: str) -> frozenset[str]:
    """The words in a file of tests."""
    path = Path(file)
    return frozenset(re.findall(r"\w+", path.read_text(encoding="utf-8"))) if path.is_file() else frozenset()


def run(tests: list[str]) -> tuple[str, str, float]:
    """Run tests in a fork of this process until one fails; return as `try_one` does."""
    LOG.write_text("")
    child = os.fork()
    if not child:
        try:
            run_here(tests)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(0)
    used = os.wait4(child, 0)[2]
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests have left
    word = name = ""
    for line in LOG.read_text().splitlines():
        seconds, word, *names = line.split(" ", 2)
        name = "".join(names)
        if word == "took":
            took[name] = float(seconds)
        if word in ("noticed", "SURVIVES", "LATE"):
            break
    if not word:
        raise RuntimeError(f"pytest could not run {tests}: {LOG.with_suffix('.out').read_text()}")
    # Where it began last, it ended there, or worked or waited as long as no test does without the mutant.
    return "noticed" if word == "begins" else word, name, used.ru_utime + used.ru_stime


def run_here(tests: list[str]) -> None:
    """Run tests in this process, which may end; what happens is in lines of a file: time, word and name."""
    os.setpgid(0, 0)
    signal.alarm(PATIENCE)
    with open(LOG.with_suffix(".out"), "w", encoding="utf-8") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    keep_out_the_compiler()

    def write(word: str, name: str = "", since: float = 0.0) -> None:
        with LOG.open("a", encoding="utf-8") as lines:
            print(f"{sum(os.times()[:4]) - since:.1f} {word} {name}", file=lines)

    class Watch:
        def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
            if report.failed:
                write("noticed", report.nodeid)

        pytest_collectreport = pytest_runtest_logreport

    options = ["-x", "-q", "-n0", "-pno:cacheprovider", "-otimeout=0", "-Wignore::pytest.PytestAssertRewriteWarning"]
    options += ["-k", f"not ({' or '.join(TWINS)})", *(f"--deselect={name}" for name in passes if not passes[name])]
    outside = [f"test/{name}.py" for names in NEAREST.values() for name in names]
    for test in tests:
        if (begin := sum(os.times()[:4])) > MOST / 2:
            return write("LATE")
        most = int(begin + MOST / 2 + took.get(test, 0.0)) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        write("begins", test)
        marks = "slow or not slow" if test in outside or "::" in test else "not slow"
        code = pytest.main([*options, "-m", marks, test], plugins=[Watch()])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return write("noticed", test)
        write("took", test, begin)
    return write("SURVIVES")


def keep_out_the_compiler() -> None:
    """Let kernels of which no machine code is kept run in Python until that has taken long: those with a mutant."""
    from fleet_sim.base import kernels

    compiled_now = kernels.Kernel._compiled_now

    def choose(kernel: Any, *args: Any, **names: Any) -> Any:
        made = kernel.machine_code()
        if kernels._load(made, tuple(map(made.typeof_pyval, args))) or kernels.seconds_in_python() > IN_PYTHON:
            return compiled_now(kernel, *args, **names)
        return kernel._run_in_python

    kernels.Kernel._compiled_now = choose  # type: ignore[method-assign, assignment]
    kernels._save = lambda *_: None


def main() -> int:
    """Draw, try, print the table; return 1 where fewer are noticed than asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: another one each time")
    parser.add_argument("--count", type=int, default=500, help="how many mutants (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="copies of the tree that are tested at once (%(default)s)")
    parser.add_argument("--wanted", type=float, default=90.0, help="how many of 100 have to be noticed (%(default)s)")
    parser.add_argument("--list", action="store_true", help="only print what would be tried")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)} (default: all)")
    options = parser.parse_args()
    if unknown := [name for name in options.packages if name not in PACKAGES]:
        parser.error(f"unknown packages: {', '.join(unknown)}")
    drawn = draw(options.seed, options.count, options.packages or list(PACKAGES))
    print(f"{len(drawn)} mutants of seed {options.seed}", flush=True)
    if options.list:
        return print(*drawn, sep="\n") or 0
    total: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(options.jobs, initializer=prepare, initargs=(folder,)) as pool,
    ):
        for count, future in enumerate(as_completed([pool.submit(try_one, mutant) for mutant in drawn]), 1):
            mutant, word, test, seconds = future.result()
            print(f"[{count}/{len(drawn)}] {word} ({seconds:.0f} s)  {mutant}  {test[:150]}", flush=True)
            total[package_of(mutant.file)] += word != "invalid"
            noticed[package_of(mutant.file)] += word == "noticed"
    for package in total:
        print(f"{package:22s} {noticed[package]:4d} of {total[package]:4d}")
    share = 100.0 * noticed.total() / max(1, total.total())
    print(f"{share:.1f} of 100 are noticed ({noticed.total()} of {total.total()}, seed {options.seed})")
    return int(share < options.wanted)


if __name__ == "__main__":
    sys.exit(main())
