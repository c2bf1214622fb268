"""Inverse kinematics: what can be reached is reached, within limits; the rest is approached."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest

from fleet_sim import Agent, AgentManager, AgentSpawnParams, MultiRobotSimulationCore, Pose, SimulationParams
from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.inverse import InverseKinematics
from fleet_sim.models.kinematics.params import IKParams
from fleet_sim.models.kinematics.tree import ORIGIN, Forward, orientations, tree_of
from fleet_sim.world.shapes import RobotModel


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


# ---- null space ------------------------------------------------------------------------------------------------------


PANDA = f"{pybullet_data.getDataPath()}/franka_panda/panda.urdf"
HAND = 11
REST = dict(zip([f"panda_joint{k}" for k in range(1, 8)], (0.0, -0.25, 0.0, -2.35, 0.0, 2.1, 0.785), strict=True))


def test_agents_use_it_one_by_one_and_together() -> None:
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False, target_rtf=0)) as sim:
        arms = AgentManager(sim, name="arms")
        arms.spawn_objects_batch(
            [
                AgentSpawnParams(
                    urdf_path="panda",
                    use_fixed_base=True,
                    initial_pose=Pose((0, 2.0 * k, 0)),
                    ik_params=IKParams(rest_posture=REST) if k else None,
                )
                for k in range(3)
            ]
        )
        agents: list[Agent] = list(arms.objects)
        for agent in agents:
            agent.set_joint_positions([0.6, -0.1, -0.6, -2.2, 0.5, 2.0, 0.3, 0.02, 0.02])
        places = [(0.5, 2.0 * k, 0.3) for k in range(3)]
        assert all(arms.move_end_effectors(places, [(1.0, 0.0, 0.0, 0.0)] * 3))
        together = np.array([list(agent.last_joint_targets.values()) for agent in agents])
        rest = np.array(list(REST.values()))
        free, pulled, other = np.linalg.norm(together[:, :7] - rest, axis=1)
        assert pulled == pytest.approx(other, abs=1e-9)
        assert pulled < 0.7 * free
        assert agents[1].move_end_effector(places[1], (1.0, 0.0, 0.0, 0.0))
        assert list(agents[1].last_joint_targets.values()) == together[1].tolist()


def test_a_posture_is_checked_and_two_equal_ones_are_equal() -> None:
    model = load_robot_model(PANDA)
    given = IKParams(rest_posture={"b": 1, "a": 0.5})
    assert given == IKParams(rest_posture=(("a", 0.5), ("b", 1.0)))
    assert hash(given) == hash(IKParams(rest_posture={"a": 0.5, "b": 1.0}))
    for wrong in ({"a": "high"}, {"a": float("nan")}, {1: 0.5}, 0.5, [0.1, 0.2], [("a", 1), ("a", 2)]):
        with pytest.raises(ConfigError, match=r"rest_posture: .*joint values by name"):
            IKParams(rest_posture=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rest_gain"):
        IKParams(rest_gain=0.0)
    with pytest.raises(UnknownNameError, match="panda_joint7"):
        InverseKinematics(model, HAND, IKParams(rest_posture={"panda_joint77": 0.0}))
    with pytest.raises(InvalidValueError, match=r"panda_joint4 is 0\.5, beyond its limits"):
        InverseKinematics(model, HAND, IKParams(rest_posture={"panda_joint4": 0.5}))
    with pytest.raises(InvalidValueError, match="joint 'panda_joint8' of 'panda' does not move"):
        InverseKinematics(model, HAND, IKParams(rest_posture={"panda_joint8": 0.3}))
