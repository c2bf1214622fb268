"""The panda of our own: its joints are those of the machine, and PyBullet's where that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs

OWN = Path(__file__).parents[2] / "urdf" / "panda.urdf"
READY = [0.0, -0.4, 0.0, -2.0, 0.0, 1.6, 0.8]
# The published table of modified Denavit-Hartenberg parameters: a, d and alpha of each joint.
TABLE = [
    (0.0, 0.333, 0.0), (0.0, 0.0, -np.pi / 2), (0.0, 0.316, np.pi / 2), (0.0825, 0.0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2), (0.0, 0.0, np.pi / 2), (0.088, 0.0, np.pi / 2), (0.0, 0.107, 0.0),
]  # fmt: skip


def flange(angles: list[float]) -> np.ndarray:
    """Return the frame (4, 4) of the flange by the table."""
    frame = np.eye(4)
    for (a, d, alpha), angle in zip(TABLE, [*angles, 0.0], strict=True):
        s, c, sa, ca = np.sin(angle), np.cos(angle), np.sin(alpha), np.cos(alpha)
        frame @= [[c, -s, 0, a], [s * ca, c * ca, -sa, -d * sa], [s * sa, c * sa, ca, d * ca], [0, 0, 0, 1]]
    return frame


def test_its_flange_is_where_the_published_kinematics_have_it() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        arm = fs.Agent.from_urdf(str(OWN), sim_core=sim, use_fixed_base=True, mass=0.0)
        arm.set_joint_positions([*READY, 0.01, 0.01])
        pose = arm.get_link_pose("panda_link8")
        expected = flange(READY)
        assert pose.position == pytest.approx(expected[:3, 3], abs=1e-6)
        # The hand is 0.1034 m long between flange and finger tips, and grasps 0.105 m below the flange.
        grasp = arm.get_link_pose("panda_grasptarget")
        assert grasp.position == pytest.approx(expected[:3, 3] + 0.105 * expected[:3, 2], abs=1e-6)


def test_joints_are_those_of_pybullets_panda() -> None:
    own = fs.load_robot_model(str(OWN))
    if find_spec("pybullet_data") is None:
        # What bears the name where there is no PyBullet.
        assert Path(fs.resolve_urdf("panda")) == OWN
        listed = fs.list_all_models()["panda"]
        assert listed == {"tier": "local", "available": True, "path": str(OWN)}
        return
    theirs = fs.load_robot_model(fs.resolve_urdf("panda"))
    assert theirs.path != own.path
    for name in ("joint_names", "link_names", "mimics"):
        assert getattr(own, name) == getattr(theirs, name)
    for name in ("parents", "joint_types", "lower", "upper", "max_velocities", "max_forces", "axes", "movable",
                 "joint_positions", "joint_orientations"):  # fmt: skip
        assert getattr(own, name) == pytest.approx(getattr(theirs, name), abs=1e-9), name
    assert fs.auto_detect_profile(str(OWN)).ee_link_name == fs.auto_detect_profile("panda").ee_link_name
    assert [inertial.mass for inertial in own.inertials] == [inertial.mass for inertial in theirs.inertials]


def test_its_links_touch_only_where_joints_join_them() -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        arm = fs.Agent.from_urdf(str(OWN), sim_core=sim, use_fixed_base=True, mass=0.0, self_collision=True)
        for angles in (READY, [0.5, 0.8, -0.5, -1.5, 0.4, 2.5, -1.0]):
            arm.set_joint_positions([*angles, 0.04, 0.04])
            sim.step_once()
            assert sim.get_self_collisions(arm) == []
