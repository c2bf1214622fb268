"""No argument of the methods of arms is accepted and then ignored: each one, changed, changes what comes of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arms import ARM_JOINTS, READY, spawn_panda

import fleet_sim as fs
from fleet_sim.robots.arm import EndEffectorHandle, JointHandle

FIRST, SECOND = ARM_JOINTS[:2]
MOVED = [0.2, -0.2, *READY[2:]]
"""Targets of all joints, two of them elsewhere."""
NEAR, OTHER = [0.4, 0.2, 0.4], [0.45, 0.2, 0.4]
DOWN = [1.0, 0.0, 0.0, 0.0]
WEAK = 1e-3
TARGET = {"target_position": NEAR}

Changes = dict[str, tuple[Any, dict[str, Any]]]
"""By argument: another value, and the other arguments of both calls, its own usual value among them."""


def with_force(**given: Any) -> Changes:
    """Changes of a command: of each argument the last value, from the first; and a weaker motor."""
    usual = {name: pair[0] for name, pair in given.items()}
    return {**{name: (pair[1], usual) for name, pair in given.items()}, "max_force": (WEAK, usual)}


def compared(**given: Any) -> Changes:
    """Changes of a comparison, which is false with the usual values of a given tolerance."""
    usual = {name: pair[0] for name, pair in given.items()}
    return {**{name: (pair[1], usual) for name, pair in given.items()}, "tolerance": (9.0, usual)}


METHODS: dict[str, Changes] = {
    "set_joint_target": with_force(joint_index=(0, 1), target_position=(0.3, -0.3)),
    "set_joint_target_by_name": with_force(joint_name=(FIRST, SECOND), target_position=(0.3, -0.3)),
    "set_all_joints_targets": with_force(target_positions=(MOVED, READY)),
    "set_joints_targets_by_name": with_force(joint_targets=({FIRST: 0.3}, {SECOND: 0.3})),
    "set_joints_targets": with_force(targets=({FIRST: 0.3}, MOVED)),
    "set_joint_velocity": with_force(joint_index=(0, 1), velocity=(0.3, -0.3)),
    "set_joint_velocity_by_name": with_force(joint_name=(FIRST, SECOND), velocity=(0.3, -0.3)),
    "set_joints_velocities": with_force(velocities=({FIRST: 0.3}, {SECOND: 0.3})),
    "set_joints_forces": {"forces": ({FIRST: 5.0}, {"forces": {FIRST: -5.0}})},
    "set_joint_positions": {"positions": (READY, {"positions": MOVED})},
    "set_motors": {
        "joints": ([SECOND], {"joints": [FIRST], "position_gain": 0.01}),
        **{name: (value, {"velocity_gain" if name == "position_gain" else "position_gain": 0.1})
           for name, value in (("position_gain", 0.01), ("velocity_gain", 0.3), ("max_velocity", 0.01),
                               ("max_force", WEAK))},
    },
    "get_motor": {"joint": ("panda_finger_joint1", {"joint": FIRST})},
    "is_joint_at_target": compared(joint_index=(0, 1), target=(0.5, 0.0))
    | {"joint_index": (1, {"joint_index": 0, "target": 0.0})},
    "is_joint_at_target_by_name": compared(joint_name=(FIRST, SECOND), target=(0.5, 0.0))
    | {"joint_name": (SECOND, {"joint_name": FIRST, "target": 0.0})},
    "are_all_joints_at_targets": compared(target_positions=(MOVED, READY)),
    "are_joints_at_targets_by_name": compared(joint_targets=({FIRST: 0.5}, {FIRST: 0.0})),
    "are_joints_at_targets": compared(targets=(MOVED, READY)),
    "get_end_effector_pose": {"end_effector_link": ("panda_link4", {})},
    "move_end_effector": {
        **with_force(
            target_position=(NEAR, OTHER), target_orientation=(None, DOWN), end_effector_link=(None, "panda_link6")
        ),
        "tolerance": (9.0, {"target_position": [3.0, 0, 0]}),
    },
    "find_reach": {
        "target_position": (OTHER, TARGET),
        "target_orientation": (DOWN, TARGET),
        "end_effector_link": ("panda_link6", TARGET),
        "tolerance": (9.0, {"target_position": [3.0, 0, 0]}),
    },
    "are_ee_at_target": {
        "target_position": ([9.0, 0, 0], {"target_position": [0.0, 0, 0], "tolerance": 2.0}),
        "target_orientation": ([0, 0, 0, 1], {"target_position": [0.0, 0, 0], "tolerance": 2.0}),
        "end_effector_link": ("panda_link1", {"target_position": [0.0, 0, 0.333], "tolerance": 0.1}),
        "tolerance": (2.0, {"target_position": [0.0, 0, 0]}),
        "orientation_tolerance": (4, {"target_position": [0] * 3, "target_orientation": [0, 0, 0, 1], "tolerance": 2}),
    },
    "end_effector": {"link": ("panda_link4", {})},
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[fs.MultiRobotSimulationCore, fs.Agent]]:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, physics=True, timestep=0.05)) as sim:
        yield sim, spawn_panda(sim, mass=None, use_fixed_base=True)


def test_every_argument_is_looked_at() -> None:
    taken = set()
    for cls in (JointHandle, EndEffectorHandle):
        for name, function in vars(cls).items():
            if inspect.isfunction(function) and not name.startswith("_"):
                taken |= {(name, parameter) for parameter in inspect.signature(function).parameters} - {(name, "self")}
    assert taken == {(name, one) for name, given in METHODS.items() for one in given}


@pytest.mark.parametrize("method", METHODS)
def test_an_argument_counts(world: tuple[fs.MultiRobotSimulationCore, fs.Agent], method: str) -> None:
    sim, arm = world
    checkpoint = sim.save_state()

    def done(given: dict[str, Any]) -> str:
        sim.restore_state(checkpoint)
        answer = getattr(arm, method)(**given)
        # The gains of motors show in how they move.
        if method == "set_motors":
            arm.set_joints_targets({FIRST: 0.5, SECOND: 0.5})
        for _ in range(2):
            sim.step_once()
        return repr((answer, np.round(arm.joint_positions, 6).tolist()))

    for name, (value, others) in METHODS[method].items():
        usual = done(others)
        assert done(others) == usual
        assert done({**others, name: value}) != usual, name
    sim.restore_state(checkpoint)
