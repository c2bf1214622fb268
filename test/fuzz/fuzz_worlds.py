"""Targets that act in a world: the options of Spawn, and logs of commands."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from fuzz_files import words_of
from fuzz_target import Target

from fleet_sim import MultiRobotSimulationCore, SimulationParams
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.limits import json_in
from fleet_sim.base.settings import parse_remote
from fleet_sim.world import commands
from fleet_sim.world.commands import Command, Spawn, field_types
from fleet_sim.world.inbox import CommandLog, LoggedCommand, replay_commands

LATEST = 50
"""Tick up to which logs are replayed."""


def new_simulation(**settings: object) -> MultiRobotSimulationCore:
    """Return an empty simulation with `settings`."""
    given = {"gui": False, "monitor": False, "target_rtf": 0.0, "timestep": 0.1, **settings}
    return MultiRobotSimulationCore(SimulationParams.from_dict(given))


def check_columns(sim: MultiRobotSimulationCore) -> None:
    """Raise AssertionError where a column of a living entity holds what is not a number, or an orientation is none."""
    world = sim.world
    rows = world.rows
    for table_name, table in world.tables.items():
        chosen = rows if table.capacity == world.capacity else slice(None)
        for name, column, values in table.columns():
            # Some begin as nan, which stands for nothing yet.
            if values.dtype.kind == "f" and not np.isnan(column.default).any():
                assert not np.isnan(values[chosen]).any(), f"{table_name}.{name} is not a number"
    for name in ("position", "velocity", "angular_velocity"):
        assert np.isfinite(getattr(world, name)[rows]).all(), f"{name} is not finite"
    norms = np.linalg.norm(world.orientation[rows], axis=1)
    assert np.allclose(norms, 1.0, atol=1e-6), f"orientations have norms of {norms}"


def options_target() -> Target:
    """Return the target of what other nodes ask for at /sim/spawn."""
    seeds = [
        b"{pose: [1, 2, 0], mass: 1.5, controller: {max_linear_vel: 2.0, avoidance: 2}, grid: {count: 3, columns: 2}}",
        b"shape: {shape_type: box, half_extents: [0.2, 0.2, 0.1], rgba_color: [1, 0, 0, 1]}\nmotion_mode: differential",
        b"battery: {capacity_wh: 100, level: 0.5}\nsensors: [{type: lidar, rate: 10, rays: 8}, {type: imu}]",
        b"urdf_path: arm6\nuse_fixed_base: true\njoint_positions: [0, 1, 0, 1, 0, 1, 0, 0]\nuser_data: {a: [1]}",
        b"urdf_path: mobile_manipulator\ncollision_mode: normal_2d\nglobal_scaling: 2.0\nblock_on_collision: true",
        b"visual_shape: [{shape_type: sphere, radius: 1}, {shape_type: cylinder, radius: 1, height: 2}]\nfriction: 0.5",
    ]
    sim = new_simulation()

    def feed(data: bytes) -> str | None:
        try:
            options = parse_remote(data.decode("utf-8", "replace"), "options")
            if not isinstance(options, dict):
                raise InvalidValueError("options: no mapping")
            command = Spawn(robots=({"pose": [0, 0, 0], **options, "name": "new"},), remote=True)
            answer = sim.inbox.put(command)
            sim.step_once()
            sim.step_once()
            ack = answer.result(0)
            check_columns(sim)
            return None if ack.ok else f"refused: {' '.join(map(str, ack.rejected.values()))[:40]}"
        finally:
            sim.clear()

    return Target(
        feed,
        seeds,
        words_of(seeds) + [b"controller: ", b"class: ", b"grid: ", b"sensors: ", b"../../etc/"],
        seconds=20.0,
    )


_POSE = {"positions": [[1.0, 2.0, 0.0]], "orientations": [[0.0, 0.0, 0.0, 1.0]]}
_ROBOT = {"name": "r", "shape": {"shape_type": "box", "half_extents": [0.2, 0.2, 0.1]}}
BASE = field_types(Command)
COMMANDS: list[dict[str, object]] = [
    {"type": "spawn", "robots": [_ROBOT], "objects": [{**_ROBOT, "name": "o", "pose": [0.5, 0, 0]}]},
    {"type": "navigate", "names": ["r"], **_POSE},
    {"type": "follow_path", "name": "r", **_POSE},
    {"type": "set_velocity", "names": ["r"], "linear": [[1, 0, 0]], "angular": [[0, 0, 1]], "timeout": 1.0},
    {"type": "set_poses", "names": ["r"], **_POSE, "preserve_velocity": False},
    {"type": "execute_action", "names": ["r"], "actions": [{"type": "wait", "duration": 0.2}]},
    {"type": "execute_action", "names": ["r"], "actions": [{"type": "pick", "target_object": "o"}]},
    {"type": "cancel_actions", "names": ["r"], "reason": "x", "goal": ""},
    {"type": "attach", "name": "r", "object_name": "o", "attach": True, "search_radius": 2.0},
    {"type": "set_joints", "names": ["r"], "joint_names": ["a"], "positions": [[0.1]]},
    {"type": "stop", "names": ["r"]},
    {"type": "save_state", "name": "s"},
    {"type": "restore_state", "name": "s"},
    {"type": "reset"},
    {"type": "remove", "names": ["r"]},
    {"type": "clear"},
]
"""One of each kind of the core, in an order in which they can be carried out; then those of features."""


def _example(kind: Any, name: str) -> object:
    """Return a value for a field of a command."""
    text = str(kind)
    one: object = 0.5 if "float" in text or "ndarray" in text else 1 if "int" in text else "r"
    if "Waypoint" in text:
        return [[0.0, 0.0, 0.0, 0, 0.0, False, "", 0], [1.0, 0.5, 0.1, 0, 0.5, True, "L1", 1]]
    if "Mapping" in text:
        entries = {"scenario": {"robots": [_ROBOT]}, "orders": [{"id": "o", "pick": "a", "drop": "b"}]}
        return entries.get(name, {"kind": "breakdown", "robot": "r"})
    if text == "bool" or kind is bool:
        return True
    return [one] if "tuple" in text or "ndarray" in text else one


COMMANDS += [
    {"type": name, **{field: _example(kind, field) for field, kind in field_types(cls).items() if field not in BASE}}
    for name, cls in commands.COMMANDS.all().items()
    if name not in {known["type"] for known in COMMANDS} and name != "call"
]


def log_target() -> Target:
    """Return the target of logs of commands, which are replayed."""

    def log_of(chosen: list[dict[str, object]]) -> bytes:
        return "\n".join(map(json.dumps, chosen)).encode()

    seeds = [log_of(COMMANDS)] + [log_of([COMMANDS[0], command]) for command in COMMANDS[1:]]

    def feed(data: bytes) -> None:
        commands = [Command.from_dict(json_in(line, "a command")) for line in data.splitlines()]
        log = CommandLog(0.1, [LoggedCommand(tick, False, command) for tick, command in enumerate(commands[:LATEST])])
        with new_simulation() as sim:
            replay_commands(sim, log)
            sim.step_once()
            check_columns(sim)

    return Target(feed, seeds, words_of(seeds), seconds=20.0)
