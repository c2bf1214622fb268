"""global_scaling: models in another size, as PyBullet's globalScaling makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pybullet
import pytest
from robot_models import assert_equal_to_pybullet

import fleet_sim as fs
from fleet_sim.models.export import bullet_file, published_text
from fleet_sim.models.loading import scaled_model

MakeSim = Callable[..., fs.MultiRobotSimulationCore]


@pytest.mark.parametrize("name", ["panda", "husky", "rail_arm", "table"])
def test_a_scaled_model_is_that_of_pybullet(name: str, client: int) -> None:
    path = fs.resolve_urdf(name)
    model = scaled_model(fs.load_robot_model(path), 1.7)
    body = pybullet.loadURDF(bullet_file(path), globalScaling=1.7, useFixedBase=True, physicsClientId=client)
    assert_equal_to_pybullet(model, client, body)
    pybullet.removeBody(body, client)


@pytest.mark.parametrize("name", ["panda", "rail_arm", "table"])
def test_everything_sees_the_scaled_size(make_sim: MakeSim, name: str) -> None:
    sim = make_sim()
    kind: Any = fs.SimObjectSpawnParams if name == "table" else fs.AgentSpawnParams
    plain, large = (
        sim.spawn(kind(urdf_path=name, initial_pose=fs.Pose.from_xyz(9.0 * scale, 0, 0), global_scaling=scale))
        for scale in (1.0, 2.0)
    )
    row, other = plain.row, large.row
    np.testing.assert_allclose(sim.world.half_extents[other], 2.0 * sim.world.half_extents[row], rtol=1e-9)
    boxes = []
    for body in (plain.body_id, large.body_id):
        links = [sim.bullet.getAABB(body, link) for link in range(-1, sim.bullet.getNumJoints(body))]
        boxes.append(np.max([box[1] for box in links], axis=0) - np.min([box[0] for box in links], axis=0))
    np.testing.assert_allclose(boxes[1], 2.0 * boxes[0], rtol=0.02, atol=0.01)


def test_limits_of_sliding_joints_grow_and_those_of_turning_ones_do_not(make_sim: MakeSim) -> None:
    sim = make_sim()
    plain, large = (
        sim.spawn(fs.AgentSpawnParams(urdf_path="rail_arm", use_fixed_base=True, global_scaling=scale))
        for scale in (1.0, 2.0)
    )
    model, scaled = (sim.world.model_of(agent.row) for agent in (plain, large))
    assert model is not None and scaled is not None
    sliding = int(model.movable[np.flatnonzero(model.joint_types[model.movable] == pybullet.JOINT_PRISMATIC)[0]])
    turning = int(model.movable[np.flatnonzero(model.joint_types[model.movable] == pybullet.JOINT_REVOLUTE)[0]])
    assert scaled.upper[sliding] == 2.0 * model.upper[sliding]
    assert scaled.upper[turning] == model.upper[turning]
    assert plain.mass == large.mass
    beyond = 1.5 * float(model.upper[sliding])
    large.set_joint_target(sliding, beyond)
    sim.run_simulation(10.0)
    assert large.get_joint_state(sliding)[0] == pytest.approx(beyond)


def test_the_published_description_is_scaled() -> None:
    path = fs.resolve_urdf("arm6")
    model = fs.load_robot_model(path)
    assert 'name="arm6"' in published_text(path, scale=2.0)
    assert published_text(path, scale=2.0) != published_text(path)
    assert scaled_model(model, 2.0) is scaled_model(model, 2.0)


def test_a_scenario_scales_and_shapes_are_not_scaled() -> None:
    entry = {"name": "arm", "urdf_path": "arm6", "global_scaling": 0.5}
    with fs.MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "robots": [entry]}) as sim:
        assert sim.world.shapes[int(sim.world.shape_id[sim.get_object("arm").row])].scale == 0.5
        box = fs.ShapeParams("box")
        with pytest.raises(fs.InvalidValueError, match="global_scaling: for robot descriptions"):
            sim.spawn(fs.SimObjectSpawnParams(box, box, global_scaling=2.0))
    with pytest.raises(fs.FleetSimError, match="global_scaling"):
        fs.AgentSpawnParams(urdf_path="arm6", global_scaling=0.0)
