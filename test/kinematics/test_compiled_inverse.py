"""Inverse kinematics by compiled code: the same joint values and errors, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim import AgentSpawnParams, IKParams, MultiRobotSimulationCore, SimulationParams
from fleet_sim.core.robot_model import RobotModel
from fleet_sim.kinematics.inverse import InverseKinematics
from fleet_sim.manipulation.hand_kinematics import joints_for
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.spatial import quaternions

ROBOTS = 10


def rest_of(model: RobotModel, count: int) -> dict[str, float]:
    """Return rest values of the first `count` joints: somewhere within their limits."""
    middle = 0.3 * model.lower[model.movable] + 0.7 * model.upper[model.movable]
    return dict(zip(model.movable_names[:count], middle[:count].tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "link", "rested", "turned"),
    [("panda", 11, 4, True), ("panda", 8, 0, True), ("arm_robot", -2, 4, False), ("mobile_manipulator", -2, 0, False)],
)
def test_solutions_are_equal(name: str, link: int, rested: int, turned: bool) -> None:
    model = load_robot_model(resolve_urdf(name))
    params = IKParams(rest_posture=rest_of(model, rested)) if rested and "mobile" not in name else IKParams()
    solver = InverseKinematics(model, link if link >= 0 else model.num_joints - 1, params)
    rng = np.random.default_rng(5)
    limited_mask = model.limited_mask[model.movable]
    low = np.where(limited_mask, model.lower[model.movable], -1.0)
    high = np.where(limited_mask, model.upper[model.movable], 1.0)
    present = rng.uniform(low, high, (ROBOTS, len(low)))
    places = rng.uniform(-0.7, 0.7, (ROBOTS, 3)) + [0.0, 0.0, 0.4]
    # One out of reach, and one where the hand has to turn by half a turn.
    places[0] = 50.0, 0.0, 0.0
    turns = quaternions.normalized(rng.normal(size=(ROBOTS, 4)))
    turns[1] = 1.0, 0.0, 0.0, 0.0
    targets = (present, places, turns if turned else None)
    plain, fast = solver.solve(*targets), solver.solve(*targets, compiled=True)
    assert 0 < plain.reachable_mask.sum() < ROBOTS
    assert [part.tobytes() for part in fast] == [part.tobytes() for part in plain]


def test_a_turn_by_half_a_turn() -> None:
    model = load_robot_model(resolve_urdf("panda"))
    # From where it is, the hand has to turn about each of its axes.
    start = np.array([[0.0, -0.25, 0.0, -2.35, 0.0, 2.1, 0.785, 0.02, 0.02]])
    solver = InverseKinematics(model, 11, IKParams(max_inner_iterations=1))
    for turn in ([1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]):
        target = np.array([[0.4, 0.0, 0.3]]), np.array([turn])
        plain, fast = solver.solve(start, *target), solver.solve(start, *target, compiled=True)
        assert fast.values.tobytes() == plain.values.tobytes()


def test_joints_that_do_not_follow_each_other_are_solved_as_before() -> None:
    model = load_robot_model(resolve_urdf("diff_base"))
    solver = InverseKinematics(model, -1)
    present, target = np.zeros((1, len(model.movable))), np.array([[0.0, 0.0, 0.0]])
    assert solver.solve(present, target, compiled=True).reachable_mask.all()


def test_an_arm_of_bin_picking_has_the_same_joints() -> None:
    with MultiRobotSimulationCore(SimulationParams(gui=False, target_rtf=0)) as sim:
        arm = sim.spawn(AgentSpawnParams(urdf_path="panda", use_fixed_base=True))
        model = arm.robot_model
        assert model is not None
        rest = rest_of(model, 7)
        target = (0.4, 0.1, 0.3), (1.0, 0.0, 0.0, 0.0)
        plain = joints_for(arm, model, 11, *target, rest, "never")
        assert plain.tobytes() == joints_for(arm, model, 11, *target, rest, "always").tobytes()
