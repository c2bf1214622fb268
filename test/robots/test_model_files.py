"""Agents from every kind of model file, by name and by path, have the joints of their model in PyBullet as well."""

from __future__ import annotations

from pathlib import Path

import pybullet_data
import pytest

from fleet_sim import Agent, MultiRobotSimulationCore, Pose, SimulationParams, load_robot_model, resolve_urdf

DATA = Path(pybullet_data.getDataPath())
TINY = """<robot name="mine"><link name="base">
<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize(
    "model", ["panda", "mobile_manipulator", "wsg50_gripper", "husky", "ant", str(DATA / "mjcf/humanoid.xml")]
)
def test_models_of_every_format_can_be_spawned_more_than_once(model: str) -> None:
    expected = load_robot_model(resolve_urdf(model))
    with MultiRobotSimulationCore(SimulationParams(gui=False, monitor=False)) as sim:
        for x in (0.0, 5.0):
            agent = Agent.from_urdf(model, pose=Pose((x, 0.0, 1.0)), use_fixed_base=True, sim_core=sim)
            names = [
                sim.bullet.getJointInfo(agent.body_id, joint)[1].decode()
                for joint in range(sim.bullet.getNumJoints(agent.body_id))
            ]
            assert tuple(names) == expected.joint_names


def test_names_are_looked_up_in_the_folders_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "panda.urdf").write_text(TINY)
    params = SimulationParams(gui=False, monitor=False, model_paths=[str(tmp_path)])
    with MultiRobotSimulationCore(params) as sim:
        agent = Agent.from_urdf("panda", sim_core=sim)
        assert sim.bullet.getBodyInfo(agent.body_id)[1] == b"mine"
