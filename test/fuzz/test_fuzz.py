"""Whatever is read, only documented errors come of it; and the fuzzer finds and keeps what is wrong."""

from __future__ import annotations

import ast
import importlib
import json
import logging
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hosted_node import hosted_node
from rclpy.executors import SingleThreadedExecutor

HERE = Path(__file__).parent
TARGETS = (
    *("yaml", "urdf", "sdf", "mjcf", "xacro", "mesh", "site", "recording", "log", "options", "machine", "scenario"),
    *("state", "vda5050", "mujoco", "sweep", "building", "cdr", "node", "page", "parameters", "schema", "readers"),
    "live",
)


@pytest.fixture(scope="module")
def targets() -> Iterator[ModuleType]:
    """Return the module with all targets; the folder of the fuzzer is not a package."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        yield importlib.import_module("fuzz_targets")


@pytest.fixture(scope="module", autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Have loggers pass on what they get to the tests that follow: some targets listen to them alone."""
    logs = [logging.getLogger(name) for name in ("fleet_sim", "asyncio", "websockets")]
    before = [(log, log.propagate, list(log.handlers)) for log in logs]
    yield
    for log, propagate, handlers in before:
        log.propagate, log.handlers[:] = propagate, handlers


def made(targets: ModuleType, name: str) -> Any:
    needed = targets.NEEDS.get(name)
    if needed and find_spec(needed) is None:
        pytest.skip(f"needs {needed}")
    return targets.TARGETS[name]()


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(HERE / "run.py"), "--folder", str(folder), "--seed", "7", *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_every_target_is_tested(targets: ModuleType) -> None:
    assert tuple(targets.TARGETS) == TARGETS and targets.NEEDS.keys() <= targets.TARGETS.keys()


def test_every_kind_of_message_has_a_generator(targets: ModuleType) -> None:
    """A new one without fails here: what pages send, commands in logs, sections of scenarios, messages to vehicles."""
    from fuzz_pages import messages
    from fuzz_schema import Generator
    from fuzz_vehicles import messages as conversations
    from fuzz_worlds import COMMANDS as IN_LOGS

    from fleet_sim.apps.viewer.server import CHECKS
    from fleet_sim.base.scenario import SECTIONS
    from fleet_sim.warehouse.vda5050.messages import VERSIONS
    from fleet_sim.world.commands import COMMANDS, Command

    assert CHECKS.keys() <= {message["type"] for message in messages("control")}
    assert COMMANDS.all().keys() - {"call"} == {command["type"] for command in IN_LOGS}
    for one in IN_LOGS:
        command = Command.from_dict(one)
        assert Command.from_dict(json.loads(json.dumps(command.to_dict()))) == command, "as a log has it"
    assert SECTIONS.all().keys() <= set(Generator().sections)
    for name, version in VERSIONS.items():
        assert version.incoming.keys() == {topic for one in conversations(name) for topic, _ in one}


@pytest.mark.slow
def test_the_node_of_the_generator_has_every_service_action_and_topic() -> None:
    """Of all that a module of the package imports."""
    imported, served = _imported(), set[str]()
    with hosted_node("-p", f"config:={HERE / 'seeds' / 'node.yaml'}") as node:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        node.simulation.step_once()
        end = time.monotonic() + 60.0
        while (missing := imported - served) - {"rmf_building_map_msgs/srv/GetBuildingMap"} and time.monotonic() < end:
            executor.spin_once(0.1)
            of_node = (node.get_name(), node.get_namespace())
            for _, kinds in node.get_service_names_and_types_by_node(*of_node):
                served |= {re.sub("_(SendGoal|GetResult)$", "", kind) for kind in kinds}
        executor.shutdown()
    assert missing == {"rmf_building_map_msgs/srv/GetBuildingMap"}, "that one has no fields"


def _imported() -> set[str]:
    package = HERE.parents[1] / "src" / "fleet_sim"
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")]
    return {
        f"{node.module.replace('.', '/')}/{alias.name}"
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and re.fullmatch(r"(?!rclpy)\w+\.(srv|action)", node.module or "")
        for alias in node.names
    }


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.slow
def test_seeds_are_read(targets: ModuleType, name: str) -> None:
    """What becomes of mutants of them is seen by `make fuzz`."""
    from fuzz_target import Watch, outcome_of

    target, watch = made(targets, name), Watch(60.0)
    for number, seed in enumerate(target.seeds):
        assert outcome_of(target, seed, watch).where.startswith("accepted"), f"seed {number}"


@pytest.mark.parametrize("path", sorted((HERE / "found").glob("*")), ids=lambda path: path.name)
def test_what_was_a_fault_is_none_any_more(targets: ModuleType, path: Path) -> None:
    from fuzz_target import Watch, outcome_of

    target = made(targets, path.name.partition("-")[0])
    assert outcome_of(target, path.read_bytes(), Watch(60.0)).fault == ""


@pytest.mark.slow
def test_a_run_prints_a_table(tmp_path: Path) -> None:
    done = run(tmp_path, "--most", "40", "--target", "site", "--target", "mesh", "--engine", "mutants")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| site | 40 | 0 |" in done.stdout and "| mesh | 40 | 0 |" in done.stdout
