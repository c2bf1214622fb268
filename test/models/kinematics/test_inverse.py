"""Inverse kinematics: what can be reached is reached, within limits; the rest is approached."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore
from fleet_sim.base.errors import ConfigError, UnknownNameError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.inverse import InverseKinematics
from fleet_sim.models.kinematics.params import IKParams
from fleet_sim.models.kinematics.tree import ORIGIN, Forward, orientations, tree_of
from fleet_sim.world.shapes import RobotModel

ARMS = {"franka_panda/panda": "panda_hand", "kuka_iiwa/model": "lbr_iiwa_link_7", "xarm/xarm6_robot": "link6"}


def model_of(name: str) -> RobotModel:
    return load_robot_model(f"{pybullet_data.getDataPath()}/{name}.urdf")


def limits(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """Limits of the joints that move; those without any stay at 0."""
    moving, mask = model.movable, model.limited_mask[model.movable]
    return np.where(mask, model.lower[moving], 0.0), np.where(mask, model.upper[moving], 0.0)


def link_poses(model: RobotModel, link: int, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    tree = tree_of(model)
    frames = Forward(tree).frames(values)[:, :, tree.link_body[link]]
    fixed = tree.link_position[[link] * len(values)], tree.link_orientation[[link] * len(values)]
    return poses.compose(frames[:, ORIGIN].T, orientations(frames), *fixed)


def targets(model: RobotModel, link: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Present joint values, and poses that other ones within the limits give."""
    lower, upper = limits(model)
    values = np.random.default_rng(5).uniform(lower, upper, (count, len(lower)))
    start = np.clip(np.zeros(values.shape), lower, upper)
    return start, *link_poses(model, link, values)


@pytest.mark.parametrize("turned", [False, True], ids=["position", "pose"])
@pytest.mark.parametrize("name", sorted(ARMS))
def test_what_an_arm_can_reach_is_reached_within_its_limits(name: str, turned: bool) -> None:
    model = model_of(name)
    link = model.link_index(ARMS[name])
    start, positions, turns = targets(model, link, 150)
    solution = InverseKinematics(model, link).solve(start, positions, turns if turned else None)

    assert solution.reachable_mask.mean() >= (0.98 if turned else 0.99)
    lower, upper = limits(model)
    assert (solution.values >= lower).all()
    assert (solution.values <= upper).all()
    reached, oriented = link_poses(model, link, solution.values)
    errors = np.linalg.norm(reached - positions, axis=1)
    assert np.abs(errors - solution.position_errors).max() < 1e-9
    assert errors[solution.reachable_mask].max() <= 0.02
    assert np.median(errors) < 1e-4
    if turned:
        apart = quaternions.to_rotation_vectors(quaternions.multiply(oriented, quaternions.conjugate(turns)))
        angles = np.linalg.norm(apart, axis=1)
        assert np.abs(angles - solution.orientation_errors).max() < 1e-6


@pytest.mark.parametrize("rested", [False, True])
def test_a_solution_has_the_same_bits_alone_in_company_and_compiled(rested: bool) -> None:
    model = model_of("franka_panda/panda")
    params = IKParams(rest_posture={"panda_joint1": 0.2, "panda_joint4": -2.1} if rested else None)
    solver = InverseKinematics(model, 8, params)
    start, positions, turns = targets(model, 8, 20)
    positions[3] += 50.0
    together = solver.solve(start, positions, turns, compiled=True)
    assert 0 < together.reachable_mask.sum() < 20
    for robot in (0, 3, 19):
        one = slice(robot, robot + 1)
        alone = InverseKinematics(model, 8, params).solve(start[one], positions[one], turns[one])
        assert [part.tobytes() for part in alone] == [part[one].tobytes() for part in together]


def test_after_many_solutions_a_simulation_uses_compiled_code(sim: MultiRobotSimulationCore) -> None:
    arm = sim.spawn(AgentSpawnParams(urdf_path="arm6", use_fixed_base=True))
    sim.step_once()
    place = arm.get_end_effector_pose().position
    for _ in range(201):
        assert not sim.world.compiled
        arm.find_reach(place)
    sim.step_once()
    assert sim.world.compiled


def test_what_is_out_of_reach_is_approached_as_far_as_possible() -> None:
    model = model_of("kuka_iiwa/model")
    start = np.zeros((3, 7))
    far = np.array([[3.0, 0.0, 0.36], [0.0, -5.0, 0.36], [0.0, 0.0, 4.0]])
    solution = InverseKinematics(model, 6).solve(start, far)
    assert not solution.reachable_mask.any()
    reached, _ = link_poses(model, 6, solution.values)
    # The stretched arm points at the target.
    shoulder = np.array([0.0, 0.0, 0.36])
    wanted = (far - shoulder) / np.linalg.norm(far - shoulder, axis=1)[:, None]
    pointed = (reached - shoulder) / np.linalg.norm(reached - shoulder, axis=1)[:, None]
    assert (wanted * pointed).sum(axis=1).min() > 0.99
    assert np.linalg.norm(reached - shoulder, axis=1).min() > 0.85


def test_an_arm_that_is_there_stays_as_it_is() -> None:
    model = model_of("franka_panda/panda")
    values = np.array([[0.1, -0.4, 0.2, -2.0, 0.3, 1.6, 0.8, 0.04, 0.01]])
    solution = InverseKinematics(model, 8).solve(values, *link_poses(model, 8, values))
    assert np.array_equal(solution.values, values)
    assert solution.reachable_mask.all()


def test_a_target_turned_by_half_a_turn_is_reached() -> None:
    model = model_of("kuka_iiwa/model")
    values = np.array([[0.0, 0.6, 0.0, -1.2, 0.0, 0.9, 0.0]])
    position, turn = link_poses(model, 6, values)
    around = quaternions.multiply(turn, np.array([[0.0, 0.0, 1.0, 0.0]]))
    solution = InverseKinematics(model, 6).solve(values, position, around)
    assert solution.reachable_mask.all()
    assert solution.orientation_errors[0] < 1e-3


def test_joints_without_limits_and_those_not_named_keep_their_values() -> None:
    husky = model_of("husky/husky")
    wheels = InverseKinematics(husky, husky.link_index("front_left_wheel_link"))
    assert wheels.joint_names == ()
    present = np.full((1, 4), 0.7)
    still = wheels.solve(present, np.array([[9.0, 0.0, 0.0]]))
    assert np.array_equal(still.values, present)
    assert not still.reachable_mask.any()

    model = model_of("kuka_iiwa/model")
    names = model.joint_names[3:6]
    solver = InverseKinematics(model, 6, IKParams(ik_joint_names=names))
    assert solver.joint_names == names
    start = np.full((1, 7), 0.3)
    wanted = start + np.array([[0.0, 0.0, 0.0, 0.4, -0.5, 0.3, 0.0]])
    solution = solver.solve(start, link_poses(model, 6, wanted)[0])
    assert solution.reachable_mask.all()
    assert np.array_equal(solution.values[0, [0, 1, 2, 6]], start[0, [0, 1, 2, 6]])
    with pytest.raises(UnknownNameError, match="lbr_iiwa_joint_"):
        InverseKinematics(model, 6, IKParams(ik_joint_names=("lbr_iiwa_joint_l",)))


def test_the_tolerance_decides_on_what_is_reachable() -> None:
    model = model_of("kuka_iiwa/model")
    start = np.zeros((1, 7))
    target = np.array([[0.0, 0.0, 1.291]])  # 30 mm above the stretched arm
    solver = InverseKinematics(model, 6)
    assert not solver.solve(start, target).reachable_mask.any()
    assert solver.solve(start, target, tolerance=0.05).reachable_mask.all()
    assert InverseKinematics(model, 6, IKParams(reachability_tolerance=0.05)).solve(start, target).reachable_mask.all()


def test_params_are_checked_and_frozen() -> None:
    params = IKParams()
    assert (params.max_outer_iterations, params.convergence_threshold, params.max_inner_iterations) == (5, 0.01, 200)
    assert (params.residual_threshold, params.reachability_tolerance) == (1e-4, 0.02)
    assert params.seed_quartiles == (0.25, 0.5, 0.75)
    assert params.ik_joint_names is None
    with pytest.raises(AttributeError):
        params.max_outer_iterations = 3  # type: ignore[misc]
    for bad in ({"max_outer_iterations": 0}, {"seed_quartiles": (0.5, 1.5)}, {"residual_threshold": -1.0}):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            IKParams(**bad)  # type: ignore[arg-type]
