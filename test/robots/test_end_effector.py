"""End effectors: sent to places by the handle of one robot, or of many in one call."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from arms import ARM_JOINTS, PANDA, READY, spawn_panda

import fleet_sim as fs
from fleet_sim import (
    Agent,
    AgentManager,
    AgentSpawnParams,
    Attach,
    ConfigError,
    IKParams,
    InvalidValueError,
    JointAction,
    MultiRobotSimulationCore,
    Pose,
    SimObjectSpawnParams,
    StateError,
    UnknownNameError,
)
from fleet_sim.base.spatial import quaternions
from fleet_sim.robots.arm import EndEffectorHandle, JointHandle

PLACE = Pose.from_yaw(2.0, -1.0, 0.5, 0.7)
DOWN = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture
def arm(sim: MultiRobotSimulationCore) -> Agent:
    robot: Agent = Agent.from_urdf(PANDA, PLACE, use_fixed_base=True, sim_core=sim, joint_positions=READY, name="arm")
    return robot


def at(pose: Pose, *offset: float) -> tuple[float, ...]:
    """A place given in the frame of the arm's base."""
    return (PLACE * Pose(offset)).as_position()


def settle(sim: MultiRobotSimulationCore, agent: Agent, limit: int = 100) -> None:
    for _ in range(limit):
        if agent.are_joints_at_targets(tolerance=0.0):
            return
        sim.step_once()
    raise AssertionError("the joints did not arrive")


def test_the_end_effector_goes_where_it_is_sent(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    target = at(PLACE, 0.5, 0.2, 0.3)
    assert arm.end_effector() == arm.link_names.index("panda_hand")
    assert not arm.are_ee_at_target(target)
    assert arm.move_end_effector(target)
    assert not arm.are_ee_at_target(target)
    settle(sim, arm)
    assert arm.are_ee_at_target(target, tolerance=1e-3)
    assert arm.get_end_effector_pose().as_position() == pytest.approx(target, abs=1e-3)


def test_it_is_turned_as_it_is_told(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    target = at(PLACE, 0.4, 0.2, 0.3)
    assert arm.move_end_effector(target, DOWN)
    settle(sim, arm)
    assert arm.are_ee_at_target(target, DOWN, tolerance=1e-3, orientation_tolerance=1e-3)
    assert not arm.are_ee_at_target(target, (0.0, 0.0, 0.0, 1.0))
    down = quaternions.rotate(np.array([arm.get_end_effector_pose().orientation]), np.array([[0.0, 0.0, 1.0]]))
    assert down[0] == pytest.approx([0.0, 0.0, -1.0], abs=1e-3)


def test_only_the_joints_on_the_way_to_the_link_move(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    elbow = arm.get_link_pose("panda_link4")
    target = (elbow * Pose((0.0, 0.05, 0.05))).as_position()
    arm.move_end_effector(target, end_effector_link="panda_link4")
    settle(sim, arm)
    assert arm.are_ee_at_target(target, end_effector_link="panda_link4")
    assert arm.joint_positions[4:] == pytest.approx(READY[4:])


def test_what_is_out_of_reach_is_approached(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    target = at(PLACE, 2.0, 0.0, 0.3)
    before = np.linalg.norm(np.subtract(arm.get_end_effector_pose().position, target))
    assert not arm.move_end_effector(target)
    settle(sim, arm)
    after = np.linalg.norm(np.subtract(arm.get_end_effector_pose().position, target))
    assert after < before - 0.3
    assert arm.move_end_effector(target, tolerance=float(after) + 0.01)


def test_params_of_the_agent_count(sim: MultiRobotSimulationCore) -> None:
    names = tuple(ARM_JOINTS[:4])
    arm = Agent.from_urdf(
        PANDA, sim_core=sim, joint_positions=READY, use_fixed_base=True, ik_params=IKParams(ik_joint_names=names)
    )
    assert arm.ik_params.ik_joint_names == names
    target = (arm.get_end_effector_pose() * Pose((0.0, 0.0, -0.1))).as_position()
    assert arm.move_end_effector(target)
    settle(sim, arm)
    assert arm.are_ee_at_target(target, tolerance=1e-3)
    assert arm.joint_positions[4:] == pytest.approx(READY[4:])
    arm.ik_params = IKParams(reachability_tolerance=5.0)
    assert arm.move_end_effector((3.0, 0.0, 0.0))
    with pytest.raises(InvalidValueError, match="IKParams"):
        arm.ik_params = {"max_outer_iterations": 3}  # type: ignore[assignment]


def test_params_are_read_strictly_from_a_scenario(make_sim) -> None:
    sim = make_sim()
    entry = {"urdf_path": PANDA, "name": "arm", "use_fixed_base": True}
    arm = Agent.from_dict({**entry, "ik_params": {"max_outer_iterations": 2}}, sim)
    assert arm.ik_params == IKParams(max_outer_iterations=2)
    with pytest.raises(ConfigError, match="max_outer_iterations"):
        Agent.from_dict({**entry, "name": "other", "ik_params": {"max_outer_iteration": 2}}, sim)


def test_bad_targets_are_refused_and_nothing_moves(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    crate = sim.spawn(SimObjectSpawnParams())
    box = sim.spawn(AgentSpawnParams())
    for error, call in (
        (InvalidValueError, lambda: arm.move_end_effector((0.0, float("nan"), 0.0))),
        (InvalidValueError, lambda: arm.move_end_effector((0.0, 1.0))),
        (InvalidValueError, lambda: arm.move_end_effector((0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 0.0))),
        (InvalidValueError, lambda: arm.move_end_effector((0.0, 1.0, 0.0), max_force=-1.0)),
        (UnknownNameError, lambda: arm.move_end_effector((0.0, 1.0, 0.0), end_effector_link="panda_hnad")),
        (UnknownNameError, lambda: arm.are_ee_at_target((0.0, 1.0, 0.0), end_effector_link=12)),
        (StateError, lambda: box.move_end_effector((0.0, 1.0, 0.0))),
    ):
        with pytest.raises(error):
            call()
    sim.step_once()
    assert arm.joint_positions == pytest.approx(READY)
    assert crate.is_alive


def test_a_target_cancels_the_action_that_moves_the_joints(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    action = JointAction({ARM_JOINTS[0]: 1.0})
    arm.add_action(action)
    sim.step_once()
    arm.move_end_effector(at(PLACE, 0.5, 0.0, 0.4))
    assert (action.status, action.error_message) == ("cancelled", "the end effector was sent elsewhere")


def test_many_arms_are_sent_in_one_call_with_the_same_result(make_sim) -> None:
    places = np.random.default_rng(3).uniform([0.3, -0.3, 0.2], [0.6, 0.3, 0.6], (12, 3))

    def spawn() -> tuple[MultiRobotSimulationCore, AgentManager]:
        sim = make_sim()
        manager = AgentManager(sim)
        params = [
            AgentSpawnParams(
                urdf_path=PANDA, use_fixed_base=True, joint_positions=READY, initial_pose=Pose.from_yaw(k, 0, 0, k)
            )
            for k in range(12)
        ]
        manager.spawn_objects_batch(params)
        return sim, manager

    (one_sim, one), (all_sim, everyone) = spawn(), spawn()
    targets = [
        (agent.get_pose() * Pose(place.tolist())).as_position() for agent, place in zip(one, places, strict=True)
    ]
    single = [agent.move_end_effector(target) for agent, target in zip(one, targets, strict=True)]
    assert everyone.move_end_effectors(targets) == single == [True] * 12
    one_sim.step_once()
    all_sim.step_once()
    assert one_sim.state_hash() == all_sim.state_hash()

    some = everyone.agents[3:5]
    assert everyone.move_end_effectors([(90.0, 0.0, 0.0)] * 2, agents=some) == [False, False]
    assert everyone.move_end_effectors([], agents=[]) == []
    with pytest.raises(InvalidValueError, match="12 agents, got 1"):
        everyone.move_end_effectors([(0.0, 0.0, 0.0)])


def test_what_a_link_carries_comes_along_when_joints_are_put_somewhere(
    sim: MultiRobotSimulationCore, arm: Agent
) -> None:
    crate = sim.spawn(SimObjectSpawnParams())
    assert arm.pick(crate, Pose((0.0, 0.0, 0.1)), link="panda_hand")
    arm.set_joint_positions({ARM_JOINTS[0]: 1.0})
    expected = arm.get_link_pose("panda_hand") * Pose((0.0, 0.0, 0.1))
    assert crate.get_pose().as_position() == pytest.approx(expected.as_position())


def test_a_command_attaches_to_a_link(sim: MultiRobotSimulationCore, arm: Agent) -> None:
    crate = sim.spawn(SimObjectSpawnParams(initial_pose=arm.get_end_effector_pose(), name="crate"))
    ack = sim.dispatcher.dispatch(Attach(name="arm", object_name="crate", link="panda_hnad"))
    assert "Did you mean 'panda_hand'" in ack.rejected["arm"]
    assert not crate.is_attached()
    assert sim.dispatcher.dispatch(Attach(name="arm", object_name="crate", link="panda_hand")).ok
    assert sim.world.parent_link[crate.row] == arm.end_effector()


# ---- arm arguments ---------------------------------------------------------------------------------------------------


FIRST, SECOND = ARM_JOINTS[:2]
MOVED = [0.2, -0.2, *READY[2:]]
"""Targets of all joints, two of them elsewhere."""
NEAR, OTHER = [0.4, 0.2, 0.4], [0.45, 0.2, 0.4]
DOWNWARDS = [1.0, 0.0, 0.0, 0.0]
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
            target_position=(NEAR, OTHER), target_orientation=(None, DOWNWARDS), end_effector_link=(None, "panda_link6")
        ),
        "tolerance": (9.0, {"target_position": [3.0, 0, 0]}),
    },
    "find_reach": {
        "target_position": (OTHER, TARGET),
        "target_orientation": (DOWNWARDS, TARGET),
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


READINGS = {
    *("get_joint_state", "get_joint_state_by_name", "get_joints_state_by_name"),
    *("get_joint_limits", "get_link_pose", "get_link_velocity"),
}
"""Methods of joints that only read: `test/oracles/test_kinematics.py` holds them."""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[fs.MultiRobotSimulationCore, fs.Agent]]:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, physics=True, timestep=0.05)) as sim:
        yield sim, spawn_panda(sim, mass=None, use_fixed_base=True)


def test_every_argument_is_looked_at() -> None:
    taken = set()
    for cls in (JointHandle, EndEffectorHandle):
        for name, function in vars(cls).items():
            if inspect.isfunction(function) and not name.startswith("_") and name not in READINGS:
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
