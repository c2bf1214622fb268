"""What another process asks for is carried out as its own: with its rights, on its budget, also when repeated."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.apps.viewer.live import LiveSource
from fleet_sim.base import files
from fleet_sim.base.request_budget import is_from_outside
from fleet_sim.facade.recording import InputRecorder, RecordedInputs
from fleet_sim.facade.state import scenario_of
from fleet_sim.robots.dispatch import LoadWorld
from fleet_sim.world.commands import COMMANDS, Command, CommandAck

PACKAGE = Path(__file__).parents[3] / "src" / "fleet_sim"
QUIET = {"gui": False, "monitor": False, "target_rtf": 0}
OPERATORS = {"reset", "clear", "restore_state"}
"""Commands that do what the operator prepared, whoever gives them."""
INSIDE = {
    "world/inbox.py": "a log that the operator repeats; its commands say themselves where they came from",
    "facade/recording.py": "the same",
    "apps/lab/run.py": "what the operator's own lab disturbs",
    "warehouse/disturbances/disturbances.py": "calls of Python code in this process",
}


@pytest.mark.parametrize("name", COMMANDS.names())
def test_every_command_of_another_process_is_carried_out_as_input_from_outside(name: str) -> None:
    seen: list[tuple[bool, bool]] = []

    def handler(command: Command) -> CommandAck:
        seen.append((files.is_remote(), is_from_outside()))
        return command.ack(0.0)

    cls = COMMANDS.get(name)
    command = object.__new__(cls)
    with fs.MultiRobotSimulationCore(fs.SimulationParams(**QUIET)) as sim:
        sim.dispatcher.handle(cls, handler)
        for remote in (False, True):
            for field, value in {"command_id": "", "source": "", "remote": remote, "file": ""}.items():
                object.__setattr__(command, field, value)
            sim.dispatcher.dispatch(command)
    assert seen == [(False, False), (name not in OPERATORS,) * 2]
    assert not files.is_remote() and not is_from_outside()


def test_whoever_puts_commands_into_the_inbox_for_others_says_so() -> None:
    """By the syntax trees: gateways of ROS, pages and brokers are the only ones."""
    found = {}
    for module in sorted(PACKAGE.rglob("*.py")):
        path, text = module.relative_to(PACKAGE).as_posix(), module.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "inbox.put" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("inbox.put", "inbox.put_ahead")):
                given = ast.unparse(node.args[0])
                # Of the gateway of ROS, `_taken` has what `_admitted` returned.
                marked = "from_outside()" in given or "_admitted(" in given or given == "[one for _, one in taken]"
                found[path] = found.get(path, True) and marked
    assert {path for path, marked in found.items() if not marked} == INSIDE.keys()
    assert {"ros/commands.py", "apps/viewer/live.py", "warehouse/vda5050/session.py"} <= found.keys()


def test_a_page_is_another_process() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(**QUIET)) as sim:
        came: list[bool] = []
        sim.inbox.on_apply.append(lambda command: came.append(command.remote))
        LiveSource(sim).send(fs.Stop())
        sim.step_once()
    assert came == [True]


def swarm(path: Path) -> dict[str, Any]:
    parts = {"agents": [{"type": "MazeAgent", "position": [3.0, 3.0]}], "metrics": ["Polarization"]}
    return {
        "swarm": {
            "type": "RectangularWorld",
            "size": [9, 9],
            **parts,
            "subscribers": [{"type": "table", "path": str(path)}],
        }
    }


def run(sim: fs.MultiRobotSimulationCore, *worlds: dict[str, Any]) -> None:
    """Load worlds, each after some steps of the one before, as a node does for others."""
    for world in worlds:
        before = sim.clock.tick
        loaded = sim.inbox.put(LoadWorld(scenario=world).from_outside())
        for _ in range(5):
            sim.step_once()
        assert sim.clock.tick == 5 + (before if loaded.exception() else 0), "what was there stays"


def test_a_repeated_run_writes_nothing_that_others_had_written(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "inputs.jsonl"
    out.mkdir()
    scenario = {"simulation": QUIET | {"seed": 1}, "robots": [{"name": "r"}]}
    # The second one is refused, as the first will write that file, and the third as its folder was not named.
    names = [out / "new.csv", out / "new.csv", tmp_path / "elsewhere.csv", out / "other.csv"]
    worlds = [swarm(path) for path in names]
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        sim.world.output_folder = str(out)
        with InputRecorder(sim, kept):
            run(sim, *worlds, {"robots": [{"name": "last"}]})
        wanted = sim.state_hash()
    written = [path.read_bytes() for path in sorted(out.iterdir())]
    for path in out.iterdir():
        path.unlink()
    for before in (None, b"of the operator"):
        if before is not None:
            (out / "new.csv").write_bytes(before)
        inputs = RecordedInputs.load(kept)
        with fs.MultiRobotSimulationCore.from_dict(inputs.scenario) as sim:
            inputs.replay(sim)
            assert sim.state_hash() == wanted
        assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"inputs.jsonl"} | (
            set() if before is None else {"new.csv"}
        )
    assert len(written) == 2 and all(written) and (out / "new.csv").read_bytes() == b"of the operator"
    assert json.loads(kept.read_text().splitlines()[0])["output"] == str(out)


def test_a_state_of_a_world_of_others_is_theirs_for_whoever_goes_on_from_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    states = [tmp_path / "one.state", tmp_path / "two.state"]
    with fs.MultiRobotSimulationCore(fs.SimulationParams(**QUIET)) as sim:
        sim.world.output_folder = str(out)
        run(sim, swarm(out / "new.csv"))
        sim.save_state(states[0])
        wanted = sim.state_hash()
    (out / "new.csv").write_bytes(b"of the operator")
    for state, again in zip(states, [states[1], None], strict=True):
        with scenario_of(state):
            assert files.is_remote() and not files.exists(__file__)
        with fs.MultiRobotSimulationCore.from_state(state, gui=False) as sim:
            assert sim.state_hash() == wanted
            sim.step_once()
            if again is not None:
                sim.load_state(state)
                sim.save_state(again)
    assert (out / "new.csv").read_bytes() == b"of the operator"
