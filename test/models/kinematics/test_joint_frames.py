"""Links in the frames of their parent links put together give the links in the frame of the base."""

from __future__ import annotations

import numpy as np
import pytest
from jointed_robots import add_robots, set_joints

from fleet_sim.base.spatial import quaternions as poses
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.models.kinematics.links import WorldLinks
from fleet_sim.models.kinematics.tree import joint_frames
from fleet_sim.world.clock import Clock
from fleet_sim.world.ports import Parts
from fleet_sim.world.shapes import BASE
from fleet_sim.world.world import World


@pytest.mark.parametrize("name", ["panda", "husky", "rail_arm", "mobile_manipulator", "r2d2"])
def test_frames_in_parents_put_together_are_the_frames_in_the_base(name: str) -> None:
    model = load_robot_model(resolve_urdf(name))
    world = World(Clock(0.1))
    world.connect(Parts(links=WorldLinks(world)))
    rows = add_robots(world, model, np.zeros((3, 3)))
    values = np.random.default_rng(8).uniform(-1.0, 1.0, (3, len(model.movable)))
    set_joints(world, rows, values)
    moved_positions, moved_orientations = joint_frames(model, values)
    positions, orientations = model.joint_positions.copy(), model.joint_orientations.copy()
    positions[model.movable], orientations[model.movable] = moved_positions[1], moved_orientations[1]
    for link in range(model.num_joints):
        place, turn, above = positions[[link]], orientations[[link]], int(model.parents[link])
        while above != BASE:
            place, turn = poses.compose(positions[[above]], orientations[[above]], place, turn)
            above = int(model.parents[above])
        expected, turned = world.link_poses(rows[1:2], np.array([link]))
        assert place == pytest.approx(expected, abs=1e-9)
        assert abs((turn * turned).sum()) == pytest.approx(1.0)
