"""Commands are values: frozen, comparable, picklable, written as plain data and read back strictly."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Thread
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim import Agent, AgentSpawnParams, MultiRobotSimulationCore, SimObject
from fleet_sim.base.errors import InvalidValueError, StateError, UnknownNameError
from fleet_sim.world.checkpoint import MOST, NamedCheckpoints
from fleet_sim.world.commands import COMMANDS, Call, Command, CommandAck, Stop
from fleet_sim.world.inbox import Inbox

TURN = [[0.0, 0.0, 0.0, 1.0]]
EXAMPLES: dict[str, dict[str, Any]] = {
    "navigate": {"names": ("a",), "positions": [[1, 2, 3]], "orientations": TURN},
    "follow_path": {"name": "a", "positions": [[1, 2, 3]] * 2, "orientations": TURN * 2},
    "set_velocity": {"names": ("a",), "linear": [[0.1, np.nan, np.inf]], "angular": np.zeros((1, 3)), "timeout": 0.5},
    "set_joints": {"names": ("a",), "joint_names": ("j",), "positions": np.array([[1 / 3]]), "max_force": 7},
    "stop": {},
    "set_charging": {"names": ("a", "b"), "charging": False},
    "set_poses": {"names": ("a",), "positions": [[1, 2, 3]], "orientations": TURN, "preserve_velocity": False},
    "execute_action": {"names": ("a",), "actions": ({"type": "wait", "duration": 0.5},), "replace": False},
    "cancel_actions": {"names": ("a",), "goal": "7"},
    "finish_actions": {"names": ("a",)},
    "attach": {"name": "a", "object_name": "b", "attach": False, "search_radius": 0.5, "reach": 0.7},
    "remove": {"names": ("a", "b")},
    "spawn": {"robots": ({"name": "a", "pose": [0, 0, 0]},), "rename": True},
    "load_world": {"scenario": {"robots": [{"name": "a"}]}, "file": "hall.yaml", "remote": True},
    "reset": {},
    "clear": {},
    "save_state": {"name": "here"},
    "restore_state": {"name": "here"},
    "submit_orders": {"orders": ({"id": "o1", "pick": "a", "drop": "b"},)},
    "cancel_orders": {"ids": ("o1",), "reason": "late"},
    "change_places": {"operation": "close", "places": ("desk", (1.0, 2.0))},
    "hold_robots": {"names": ("a",), "hold": False},
    "disturb": {"entry": {"kind": "breakdown", "robots": ["a"], "lasts": 2.0}, "id": "here"},
    "end_disturbances": {"ids": ("here",)},
    "set_stations_open": {"stations": ("a",), "open": False},
    "move_doors": {"names": ("a",), "open": False},
    "switch_lights": {"names": ("a",), "lit": False, "color": (1.0, 0.0, 0.5)},
    "run_conveyors": {"names": ("a",), "running": False},
    "serve_robot": {"cell": "a", "robots": ("b",), "request": "r"},
    "call_lift": {"lift": "a", "floor": "L2"},
    "request_lift": {"lift": "a", "floor": "L2", "session": "s"},
    "follow_waypoints": {"robot": "a", "task": "t", "path": ()},
    "set_slotcar_mode": {"robot": "a", "mode": 2},
    "pause_slotcar": {"robot": "a", "pause": 2},
    "request_charge": {"charger": "a", "robot": "b", "request": "r", "timeout": 60.0},
    "cancel_charge": {"charger": "a", "request": "r"},
    "vda5050_message": {"name": "a", "topic": "order", "text": "{}", "received": 1.5},
}


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(COMMANDS.names())


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_command_is_a_value(kind: str) -> None:
    cls = COMMANDS[kind]
    command = cls(**EXAMPLES[kind], command_id="1", source="test")
    assert command == cls(**EXAMPLES[kind], command_id="1", source="test")
    assert command != cls(**EXAMPLES[kind], command_id="2", source="test")
    assert hash(command) == hash(cls(**EXAMPLES[kind], command_id="1", source="test"))
    assert pickle.loads(pickle.dumps(command)) == command
    data = json.loads(json.dumps(command.to_dict()))
    assert data["type"] == kind
    assert fs.Command.from_dict(data) == command
    assert cls(**EXAMPLES[kind]).to_dict().keys() <= {"type", *EXAMPLES[kind]}, "what is as by default is left out"


def test_numbers_given_are_copied_and_frozen() -> None:
    positions = np.array([[1.0, 2.0, 3.0]])
    command = fs.Navigate(names=["a"], positions=positions, orientations=TURN)  # type: ignore[arg-type]
    positions[:] = 0.0
    assert command.names == ("a",)
    assert command.positions[0].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="read-only"):
        command.positions[0, 0] = 5.0
    assert command != fs.Navigate(names=("a",), positions=np.zeros((1, 3)), orientations=TURN)  # type: ignore[arg-type]
    assert command != fs.Navigate(names=("a",), positions="here", orientations=TURN)  # type: ignore[arg-type]
    assert command != "navigate"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"type": "set_velocty"}, "unknown command 'set_velocty'. Did you mean 'set_velocity'?"),
        ({"type": "stop", "nmes": ["a"]}, "stop: unknown key 'nmes'. Did you mean 'names'?"),
        ({"type": "remove"}, "remove: 'names' is missing"),
        ({"type": "remove", "names": "a"}, r"remove.names: expected a list, got 'a'"),
        ({"type": "remove", "names": [1]}, r"remove.names\[0\]: expected a text, got 1"),
        ({"type": "attach", "name": "a", "attach": 1}, "attach.attach: expected true or false, got 1"),
        ({"type": "attach", "name": "a", "search_radius": True}, "expected a number, got True"),
        ({"type": "spawn", "robots": ["a"]}, r"spawn.robots\[0\]: expected a mapping, got 'a'"),
        ({"type": "set_joints", "names": ["a"], "positions": 1}, "expected a list of numbers or nothing, got 1"),
        ({"names": ["a"]}, "expected a mapping with the type of a command"),
        (["stop"], "expected a mapping with the type of a command"),
    ],
)
def test_reading_is_strict(data: Any, message: str) -> None:
    with pytest.raises(fs.FleetSimError, match=message):
        fs.Command.from_dict(data)


def test_what_is_no_value_cannot_be_written() -> None:
    with pytest.raises(fs.InvalidValueError, match="Call is no command that can be written"):
        fs.Call(function=print).to_dict()
    with pytest.raises(fs.InvalidValueError, match=r"actions\[0\]: <Wait not_started> cannot be written"):
        fs.ExecuteAction(names=("a",), actions=(fs.Wait(1.0),)).to_dict()


def test_commands_for_between_steps_keep_their_place(sim: fs.MultiRobotSimulationCore) -> None:
    sim.spawn(fs.AgentSpawnParams(name="a"))
    sim.step_once()
    sim.step_once()
    order: list[str] = []
    sim.events.on("fleet_command", lambda command: order.append(f"{type(command).__name__} {sim.step_count}"))
    futures = [sim.inbox.put(command) for command in (fs.Stop(), fs.Reset(), fs.Stop())]
    sim.step_once()
    assert order == ["Stop 2", "Reset 3"]
    assert [future.done() for future in futures] == [True, True, False]
    sim.step_once()
    assert order[2:] == ["Stop 0"]
    assert futures[2].result(0).accepted_names == ("a",)


def test_moments_are_saved_and_gone_back_to_by_command(sim: fs.MultiRobotSimulationCore) -> None:
    robot = sim.spawn(fs.AgentSpawnParams(name="a"))
    sim.step_once()
    answers = [sim.inbox.put(fs.SaveState(name="here")), sim.inbox.put(fs.SaveState(name="n o"))]
    robot.set_pose(fs.Pose((5, 0, 0)))
    moved = sim.state_hash()
    sim.inbox.put(fs.SaveState(name="there"))
    sim.inbox.put(fs.RestoreState(name="here"))
    answers.append(sim.inbox.put(fs.RestoreState(name="her")))
    sim.inbox.drain(sim.dispatcher)
    assert sim.dispatcher.moments.names == ["here", "there"]
    assert "letters, digits" in str(answers[1].exception(0))
    assert "Did you mean 'here'?" in str(answers[2].exception(0))
    assert sim.state_hash() == moved, "commands are applied where they are drained, after the pose was set"


def test_spawning_by_command_can_find_free_names(sim: fs.MultiRobotSimulationCore) -> None:
    shape = {"shape_type": "box", "half_extents": [0.1, 0.1, 0.1]}
    robots = ({"name": "a", "shape": shape}, {"name": "a", "shape": shape}, {"shape": shape})
    ack = sim.dispatcher.dispatch(fs.Spawn(robots=robots, objects=({"name": "a", "shape": shape},), rename=True))
    assert ack.accepted_names == ("a", "a_0", "robot_0", "a_1")
    with pytest.raises(fs.ConfigError, match=r"objects\[0\]"):
        sim.dispatcher.dispatch(fs.Spawn(robots=({"name": "b", "shape": shape},), objects=({"nam": "c"},)))
    assert len(sim.sim_objects) == 4, "all or none"


def test_a_goal_is_cancelled_without_those_that_came_after(sim: fs.MultiRobotSimulationCore, robot: fs.Agent) -> None:
    first, second = fs.MoveTo(fs.Pose((9, 0, 0))), fs.Wait(1.0)
    for command_id, action, replace in (("1", first, True), ("2", second, False)):
        sim.inbox.put(fs.ExecuteAction(names=("robot",), actions=(action,), replace=replace, command_id=command_id))
    sim.step_once()
    sim.inbox.put(fs.CancelActions(names=("robot",), goal="1", reason="enough"))
    sim.inbox.put(fs.CancelActions(names=("robot",), goal="of nobody"))
    sim.step_once()
    assert (first.status, first.error_message, second.status) == ("cancelled", "enough", "in_progress")
    assert robot.goal_pose is None


def test_commands_of_ones_own_have_a_handler_and_a_name(sim: fs.MultiRobotSimulationCore) -> None:
    from dataclasses import dataclass

    @dataclass(frozen=True, kw_only=True, eq=False)
    class Charge(fs.Command):
        """Charge a battery."""

        name: str

    COMMANDS.register("charge", Charge)
    try:
        charged = []
        with pytest.raises(fs.InvalidValueError, match="unknown command"):
            sim.dispatcher.dispatch(Charge(name="a"))
        sim.dispatcher.handle(Charge, lambda command: charged.append(command.name) or fs.CommandAck())  # type: ignore[func-returns-value]
        sim.dispatcher.dispatch(fs.Command.from_dict({"type": "charge", "name": "a"}))
        assert charged == ["a"]
    finally:
        COMMANDS.unregister("charge")


# ---- The inbox: commands from any thread, in order, each with an answer ----------------------------------------------


class Dispatcher:
    """Calls Calls; keeps what it was given."""

    def __init__(self) -> None:
        self.applied: list[Command] = []

    def dispatch(self, command: Command) -> CommandAck:
        self.applied.append(command)
        value = command.function(None) if isinstance(command, Call) else None
        return CommandAck(command.command_id, value=value)


def test_commands_are_applied_in_order_and_answered() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    futures = [inbox.put(Stop(command_id=str(index))) for index in range(3)]
    assert len(inbox) == 3
    assert not futures[0].done()
    assert inbox.drain(dispatcher, 2) == 2
    assert futures[1].done()
    assert not futures[2].done()
    assert inbox.drain(dispatcher) == 1
    assert [future.result(0).command_id for future in futures] == ["0", "1", "2"]
    assert inbox.drain(dispatcher) == 0


@pytest.mark.parametrize("error", [ZeroDivisionError, AttributeError, OSError, KeyError, AssertionError])
def test_a_fault_in_one_command_is_its_own(error: type[Exception]) -> None:
    inbox, dispatcher = Inbox(), Dispatcher()

    def fail(sim: object) -> None:
        raise error("mine")

    bad, good = inbox.put(Call(function=fail)), inbox.put(Call(function=lambda sim: 5))
    assert inbox.drain(dispatcher) == 2
    with pytest.raises(error, match="mine"):
        bad.result(0)
    assert good.result(0).value == 5


def test_an_interrupt_loses_no_later_command() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()

    def interrupt(sim: object) -> None:
        raise KeyboardInterrupt

    inbox.put(Call(function=interrupt))
    later = inbox.put(Stop())
    with pytest.raises(KeyboardInterrupt):
        inbox.drain(dispatcher)
    inbox.drain(dispatcher)
    assert later.done()


def test_what_is_put_while_draining_waits() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    inbox.put(Call(function=lambda sim: inbox.put(Stop())))
    assert inbox.drain(dispatcher) == 1
    assert len(inbox) == 1


def test_a_cancelled_command_is_not_applied() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    future = inbox.put(Stop())
    assert future.cancel()
    inbox.drain(dispatcher)
    assert dispatcher.applied == []
    with pytest.raises(CancelledError):
        future.result(0)


def test_threads_may_put_while_another_drains() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    threads = [Thread(target=lambda: [inbox.put(Stop()) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        inbox.drain(dispatcher)
    inbox.drain(dispatcher)
    assert len(dispatcher.applied) == 2000


def test_only_commands_are_taken() -> None:
    with pytest.raises(InvalidValueError, match="'stop'"):
        Inbox().put("stop")  # type: ignore[arg-type]


def test_commands_may_arrive_while_it_looks_at_those_that_wait() -> None:
    inbox = Inbox()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [Thread(target=lambda: [inbox.put(Stop()) for _ in range(3000)]) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            # What each step asks before it begins.
            assert not inbox.runs_code(len(inbox))
    finally:
        sys.setswitchinterval(before)
    assert len(inbox) == 9000


# ---- kept states -----------------------------------------------------------------------------------------------------


@pytest.fixture
def moments(sim: MultiRobotSimulationCore) -> NamedCheckpoints:
    made = NamedCheckpoints()
    made.keep("first", sim.save_state(), 1)
    return made


def test_moments_have_names_and_the_newest_is_last(sim: MultiRobotSimulationCore, moments: NamedCheckpoints) -> None:
    moments.keep("a.b-c_1", sim.save_state(), 1)
    state = sim.save_state()
    moments.keep("first", state, 1)
    assert moments.names == ["a.b-c_1", "first"]
    assert moments.named("first") is state
    with pytest.raises(UnknownNameError, match=r"unknown saved moment 'frist'\. Did you mean 'first'"):
        moments.named("frist")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "\n", "a\n", None, 3])
def test_moments_are_no_files(moments: NamedCheckpoints, name: Any) -> None:
    with pytest.raises(InvalidValueError, match="moments are kept in memory, not in files"):
        moments.check(name, 1)


def test_there_are_so_many_moments_at_most(sim: MultiRobotSimulationCore, moments: NamedCheckpoints) -> None:
    state = sim.save_state()
    for number in range(1, MOST):
        moments.keep(f"m{number}", state, 1)
    with pytest.raises(InvalidValueError, match=f"{MOST} moments are kept already; save under one of their names"):
        moments.check("another", 1)
    moments.keep("first", state, 1)
    assert len(moments.names) == MOST


def test_an_entity_does_not_collide_with_itself(
    sim: MultiRobotSimulationCore, robot: Agent, crate: SimObject, make_sim: Callable[..., MultiRobotSimulationCore]
) -> None:
    with pytest.raises(InvalidValueError, match="'robot' cannot collide with itself; name two entities"):
        sim.set_collision_pair("robot", robot, False)
    with pytest.raises(InvalidValueError, match="enabled: expected True, False or None"):
        sim.set_collision_pair(robot, crate, 1)  # type: ignore[arg-type]
    stranger: Any = make_sim().spawn(AgentSpawnParams(name="stranger"))
    for wrong in (stranger, 3):
        with pytest.raises(InvalidValueError, match="expected an entity of this simulation, or its name, got"):
            sim.set_collision_pair(robot, wrong, False)
    with pytest.raises(UnknownNameError, match="Did you mean 'crate'"):
        sim.set_collision_pair("robot", "crates", False)


def test_sensors_are_added_to_entities_and_removed_once(sim: MultiRobotSimulationCore, robot: Agent) -> None:
    sensor = sim.add_sensor("imu", robot)
    with pytest.raises(InvalidValueError, match="owner: expected an entity, its name, or None for the world, got"):
        sim.add_sensor("imu", 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="expected a sensor, got"):
        sim.remove_sensor("imu")  # type: ignore[arg-type]
    sim.remove_sensor(sensor)
    assert not sensor.is_alive
    assert "removed" in repr(sensor)
    with pytest.raises(StateError, match="was removed; this handle can no longer be used"):
        sim.remove_sensor(sensor)
