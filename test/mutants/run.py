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
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.txt")

# Folder of src/fleet_sim -> the oracles that see it first, before all tests of the folder of the same name.
PACKAGES: dict[str, tuple[str, ...]] = {
    "robots/motion": (
        "motion_steps",
        "evasion",
        "orca",
        "motion_laws",
        "motion_paths",
        "cars",
        "avoidance",
        "joints",
        "motion_table",
    ),
    "sensing/collision": ("distances", "meetings", "blocking", "vision"),
    "models/kinematics": ("descents", "wheels", "kinematics", "joints", "dynamics"),
    "robots/actions": ("ways", "actions", "blocked_goals", "blocking", "doors_and_lifts", "ros_goals"),
    "robots": ("entities", "wheels", "joints", "kinematics", "actions", "motion_laws", "written_columns", "dynamics"),
    "sensing/sensors": ("scans", "vision", "body_sensors", "sensor_noise", "ros_sensors"),
    "warehouse/traffic": (
        *("planners", "networks", "paths_in_time", "traffic_law"),
        *("traffic_counts", "traffic", "routes", "problem_files"),
    ),
    "warehouse/orders": (
        "order_places",
        "order_requests",
        "order_choices",
        "order_work",
        "order_tables",
        "orders",
        "order_queues",
        "reports",
    ),
    "warehouse/battery": ("batteries", "vda5050", "ros_commands"),
    "warehouse/equipment": ("equipment", "doors_and_lifts"),
    "warehouse/vda5050": ("vda5050", "vda5050_orders", "factsheet"),
    "warehouse/disturbances": (),
    "warehouse/people": ("people_and_safety",),
    "warehouse/sites": ("building_map",),
    "warehouse/nav2": ("ros_nav2", "ros_behaviors"),
    "warehouse/rmf": ("ros_rmf", "building_map"),
    "ros": ("ros_fields", "ros_commands", "ros_goals", "ros_sensors", "ros_nav2", "ros_namespaces"),
    "swarm": ("swarm", "swarm_worlds", "swarm_controllers", "swarm_senses", "swarm_source"),
    "learning/envs": ("envs", "env_worlds"),
    "apps/record": ("records", "playback"),
}
# Begin of a path below src/fleet_sim -> tests that see it before those, also slow ones: much of a node is seen from
# outside only. The first that fits counts.
NEAREST: dict[str, tuple[str, ...]] = {
    "warehouse/battery/ros": ("oracles/test_ros_commands.py",),
    "warehouse/equipment/ros": ("system/test_belts_and_lights.py",),
    "warehouse/nav2/behaviors": ("oracles/test_ros_behaviors.py", "system/test_nav2.py", "system/test_nav2_gps.py"),
    "warehouse/nav2/maps": ("ros/test_maps_and_paths.py", "oracles/test_ros_nav2.py"),
    "warehouse/nav2/planning": ("ros/test_maps_and_paths.py", "system/test_nav2_smoothing.py"),
    "warehouse/nav2": ("ros/test_maps_and_paths.py", "system/test_nav2_teleop.py", "system/test_nav2.py"),
    "warehouse/rmf/ros": ("warehouse/rmf/test_building.py", "oracles/test_ros_rmf.py"),
    "warehouse/vda5050/ros": ("ros/test_vehicles.py",),
    "ros/action": ("system/test_actions.py", "system/test_joints.py"),
    "ros/fleet": ("oracles/test_ros_fleet.py",),
    "ros/launching": ("system/test_launch.py",),
    "ros/lockstep": ("system/test_lockstep.py",),
    "ros/main": ("system/test_process.py",),
    "ros/node_params": (
        "apps/record/test_node_recording.py",
        "system/test_settings_of_the_node.py",
        "system/test_services.py",
    ),
    "ros/playback": ("system/test_recording.py",),
    "ros/robot": ("system/test_joints.py", "system/test_joint_controller.py"),
    "ros/sensors": ("oracles/test_ros_sensors.py", "system/test_cameras.py"),
    "ros/services": ("system/test_services.py", "system/test_state_services.py", "system/test_recording.py"),
    "ros/simulation": ("system/test_standard_services.py",),
}
TWINS = ("bits", "twin", "compiled", "hash", "snapshot", "determin", "same_run", "same_results", "reproduc", "repeat")
"""Words in the names of tests that compare two runs of the same sources."""

PATIENCE = 900.0
"""Time after which the tests of a mutant count as hanging, which is noticed; s."""

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

    for node in _code(ast.parse(source)):
        yield from (change(node, *found) for found in _changes(node))


def _code(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """The expressions and statements inside functions, without annotations, defaults, texts and what raises."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        inside = node.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
        for part in [node] if inside is None else inside:
            if inside is not None and isinstance(part, ast.expr | ast.stmt):
                yield from _expressions(part)
            elif inside is None:
                yield from _code(part)


def _expressions(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":
        # Of zip: whether it checks what is so, or not.
        return
    if isinstance(node, ast.expr | ast.stmt):
        yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.UnaryOp) and getattr(getattr(node, "func", None), "attr", "") == "reshape":
                # Of the -1 of a shape only the sign counts.
                yield child
            elif isinstance(child, ast.AST):
                yield from _expressions(child)


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    """New texts for one node, each with the kind of change."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        new = node.value + 1 if isinstance(node.value, int) else node.value * 1.02 or 0.02
        yield repr(new), "constant"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value), "constant"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        bound = node.comparators[0]
        is_real = isinstance(bound, ast.Constant) and isinstance(bound.value, float)
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


def _is_text(node: ast.BinOp) -> bool:
    kinds = ast.JoinedStr | ast.List | ast.Tuple
    return any(isinstance(part, kinds) or _is_string(part) for part in (node.left, node.right))


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def draw(seed: int, count: int, packages: list[str]) -> list[Mutant]:
    """Draw mutants, as many of each package and of each kind as of the others where there are so many."""
    generator, drawn = random.Random(seed), []
    skipped = {line.split("  #")[0].strip() for line in EQUIVALENT.read_text(encoding="utf-8").splitlines()}
    pools: dict[str, dict[str, list[Mutant]]] = {}
    for package in packages:
        pool = pools.setdefault(package, {})
        for path in sorted((ROOT / "src/fleet_sim" / package).rglob("*.py")):
            if package_of(path.relative_to(ROOT).as_posix()) != package:
                continue
            for mutant in mutants(path):
                if f"{mutant.file}: {mutant.what}" not in skipped:
                    pool.setdefault(mutant.what.split(":")[0], []).append(mutant)
    while len(drawn) < count:
        pool = pools[packages[len(drawn) % len(packages)]]
        kind = generator.choice(sorted(kind for kind in pool if pool[kind]))
        drawn.append(pool[kind].pop(generator.randrange(len(pool[kind]))))
    return drawn


class Copy:
    """A copy of the tree, with its machine code, in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "dist", "build", "demo", "fuzz", ".cache", ".*_cache", ".hypothesis"
        )
        shutil.copytree(ROOT, folder, symlinks=True, ignore=ignored)

    def is_noticed(self, mutant: Mutant) -> str:
        """Return the first test that fails with the mutant in the tree, or nothing."""
        file, kept = self._folder / mutant.file, ROOT / mutant.file
        data = kept.read_bytes()
        try:
            compile(changed := data[: mutant.begin] + mutant.text.encode() + data[mutant.end :], mutant.file, "exec")
        except SyntaxError:
            return "does not compile"
        file.write_bytes(changed)
        try:
            return next(filter(None, map(self._first_failure, self._tests(mutant))), "")
        finally:
            shutil.copy2(kept, file)
            shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)
            if (kept.parent / "__pycache__").is_dir():
                shutil.copytree(kept.parent / "__pycache__", file.parent / "__pycache__")

    def _tests(self, mutant: Mutant) -> Iterator[list[str]]:
        """Yield what pytest is to run, the nearest first."""
        package, inside = package_of(mutant.file), mutant.file.removeprefix("src/fleet_sim/")
        nearest = next((found for begin, found in NEAREST.items() if inside.startswith(begin)), ())
        yield ["-m", "slow or not slow", *(f"test/{name}" for name in nearest)] if nearest else []
        oracles = [f"test/oracles/test_{name}.py" for name in PACKAGES[package]]
        yield [name for name in oracles if (self._folder / name).is_file()]
        yield [f"test/{package}"] if (self._folder / "test" / package).is_dir() else []

    def _first_failure(self, tests: list[str]) -> str:
        if not tests:
            return ""
        kept = f"not ({' or '.join(TWINS)})"
        # Of several -m the last one counts.
        options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", "-k", kept]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        environment = {**os.environ, "PYTHONPATH": str(self._folder / "src")}
        try:
            run = subprocess.run(
                command, cwd=self._folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            return "hangs"
        if run.returncode in (0, 5):
            return ""
        if run.returncode in (3, 4):
            raise RuntimeError(f"pytest could not run {tests}: {run.stdout[-2000:]}{run.stderr[-2000:]}")
        failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0].split(" - ")[0][:150] if failed else f"pytest ends with {run.returncode}"


def main() -> int:
    """Draw, try, print the table; return 1 where fewer are noticed than asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="default: another one each time")
    parser.add_argument("--count", type=int, default=500, help="how many mutants (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="copies of the tree that are tested at once (%(default)s)")
    parser.add_argument("--wanted", type=float, default=90.0, help="how many of 100 have to be noticed (%(default)s)")
    parser.add_argument("--list", action="store_true", help="only print what would be tried")
    parser.add_argument("--out", type=Path, help="a file for each result as a line of JSON")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(PACKAGES)} (default: all)")
    options = parser.parse_args()
    if unknown := [name for name in options.packages if name not in PACKAGES]:
        parser.error(f"unknown packages: {', '.join(unknown)}")
    drawn = draw(options.seed, options.count, options.packages or list(PACKAGES))
    print(f"{len(drawn)} mutants of seed {options.seed}", flush=True)
    if options.list:
        print(*drawn, sep="\n")
        return 0
    copies: Queue[Copy] = Queue()
    tried: list[tuple[Mutant, str]] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for number in range(options.jobs):
            copies.put(Copy(Path(folder, str(number))))

        def try_one(mutant: Mutant) -> None:
            copy = copies.get()
            try:
                noticed = copy.is_noticed(mutant)
            finally:
                copies.put(copy)
            tried.append((mutant, noticed))
            word = "noticed" if noticed else "SURVIVES"
            print(f"[{len(tried)}/{len(drawn)}] {word}  {mutant}  {noticed}", flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"mutant": str(mutant), "noticed": noticed}) + "\n")

        list(pool.map(try_one, drawn))
    valid = [(mutant, noticed) for mutant, noticed in tried if noticed != "does not compile"]
    total, seen = Counter(), Counter()
    for mutant, noticed in valid:
        total[package_of(mutant.file)] += 1
        seen[package_of(mutant.file)] += bool(noticed)
    for package in total:
        print(f"{package:22s} {seen[package]:4d} of {total[package]:4d}")
    share = 100.0 * sum(seen.values()) / max(1, len(valid))
    print(f"{share:.1f} of 100 are noticed ({sum(seen.values())} of {len(valid)}, seed {options.seed})")
    return int(share < options.wanted)


if __name__ == "__main__":
    sys.exit(main())
