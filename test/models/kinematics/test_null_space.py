"""A rest posture: of the solutions the one nearest to it, with the target kept and the limits respected."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest
from robot_models import link_poses

from fleet_sim import Agent, AgentManager, AgentSpawnParams, IKParams, MultiRobotSimulationCore, Pose, SimulationParams
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.base.spatial import quaternions
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.inverse import InverseKinematics
from fleet_sim.world.shapes import RobotModel

PANDA = f"{pybullet_data.getDataPath()}/franka_panda/panda.urdf"
HAND = 11
REST = dict(zip([f"panda_joint{k}" for k in range(1, 8)], (0.0, -0.25, 0.0, -2.35, 0.0, 2.1, 0.785), strict=True))


def hand_pose(model: RobotModel, values: Floats) -> tuple[Floats, Floats]:
    """Position (3,) and orientation (4,) of the point between the fingers at the movable joints' values (9,)."""
    every = np.zeros(model.num_joints)
    every[model.movable] = values
    positions, turns = link_poses(model, every.tolist())
    return positions[HAND], turns[HAND]


def errors_at(model: RobotModel, values: Floats, position: Floats, turn: Floats) -> Floats:
    """Position errors in m and rotation errors in rad, (6,)."""
    at, turned = hand_pose(model, values)
    apart = quaternions.multiply(turn[None], quaternions.conjugate(turned[None]))
    return np.concatenate([position - at, quaternions.to_rotation_vectors(apart)[0]])


def spare_way(model: RobotModel, values: Floats, rest: Floats) -> float:
    """How far, in rad, the way to the rest posture goes on with the hand held still, to first order."""
    pose = hand_pose(model, values)
    step = 1e-6
    jacobian = np.array([-errors_at(model, values + step * np.eye(9)[joint], *pose) / step for joint in range(7)]).T
    spare = np.linalg.svd(jacobian)[2][6]
    return float(abs(spare @ (rest - values[:7])))


def reachable(model: RobotModel, count: int) -> tuple[Floats, Floats, Floats]:
    """Start values (N, 9), and poses that joint values around the rest posture give."""
    rng = np.random.default_rng(3)
    near = np.concatenate([list(REST.values()) + rng.uniform(-0.5, 0.5, (count, 7)), np.zeros((count, 2))], axis=1)
    found = [hand_pose(model, values) for values in near]
    start = near + rng.uniform(-0.3, 0.3, near.shape) * (np.arange(9) < 7)
    return start, np.array([at for at, _ in found]), np.array([turn for _, turn in found])


def test_the_posture_is_the_nearest_to_the_rest_that_reaches_the_target() -> None:
    model = load_robot_model(PANDA)
    start, positions, turns = reachable(model, 40)
    rest = np.array(list(REST.values()))
    plain = InverseKinematics(model, HAND).solve(start, positions, turns)
    solution = InverseKinematics(model, HAND, IKParams(rest_posture=REST)).solve(start, positions, turns)
    assert solution.reachable_mask.all()
    assert max(solution.position_errors.max(), solution.orientation_errors.max()) <= 1e-4
    far, near = (np.linalg.norm(found.values[:, :7] - rest, axis=1) for found in (plain, solution))
    assert (near <= far).all()
    assert np.median(near) < 0.9 * np.median(far)
    lower, upper = model.lower[model.movable[:7]], model.upper[model.movable[:7]]
    for values, position, turn in zip(solution.values, positions, turns, strict=True):
        assert np.abs(errors_at(model, values, position, turn)).max() < 1.1e-4
        assert ((values[:7] >= lower) & (values[:7] <= upper)).all()
        inside = ((values[:7] > lower) & (values[:7] < upper)).all()
        assert not inside or spare_way(model, values, rest) < 2e-3


def test_the_posture_does_not_depend_on_where_the_arm_comes_from() -> None:
    model = load_robot_model(PANDA)
    solver = InverseKinematics(model, HAND, IKParams(rest_posture=REST))
    target, down = np.array([[0.5, 0.05, 0.25]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    rest = np.array([*REST.values(), 0.02, 0.02])
    expected = solver.solve(rest[None], target, down).values[0]
    for seed in range(5):
        start = rest + np.random.default_rng(seed).uniform(-0.3, 0.3, 9) * (np.arange(9) < 7)
        assert solver.solve(start[None], target, down).values[0] == pytest.approx(expected, abs=2e-3)


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
