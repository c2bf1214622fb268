"""A rest posture: of the solutions the one nearest to it, with the target kept and the limits respected."""

from __future__ import annotations

import numpy as np
import pybullet_data
import pytest

from fleet_sim import Agent, AgentManager, AgentSpawnParams, IKParams, MultiRobotSimulationCore, Pose, SimulationParams
from fleet_sim.base.errors import ConfigError, InvalidValueError, UnknownNameError
from fleet_sim.models import load_robot_model
from fleet_sim.models.kinematics.inverse import InverseKinematics

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
