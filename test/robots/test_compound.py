"""Bodies of several shapes, meshes given as arrays, objects from descriptions: seen alike by all that look at them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.occupancy import FREE, OCCUPIED

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
RED, BLUE = (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0)

LEGS = [
    fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.4), rgba_color=RED, frame_pose=fs.Pose.from_xyz(0.0, y, 0.4))
    for y in (-1.0, 1.0)
]
TOP = fs.ShapeParams("box", half_extents=(0.1, 1.1, 0.05), rgba_color=BLUE, frame_pose=fs.Pose.from_xyz(0, 0, 0.85))
GATE = [*LEGS, TOP]
BALL = fs.ShapeParams("sphere", radius=0.2)

CORNERS = [[x, y, z] for x in (-0.5, 0.5) for y in (-0.3, 0.3) for z in (-0.2, 0.2)]
FACES = [0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1, 2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3]


def gate(sim: Sim, **settings: Any) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(GATE, GATE, fs.Pose.from_xyz(3.0, 0.0, 0.0), name="gate", **settings))


def ball(sim: Sim, y: float, z: float = 0.3) -> fs.SimObject:
    return sim.spawn(fs.SimObjectSpawnParams(BALL, BALL, fs.Pose.from_xyz(3.0, y, z)))


def pairs(sim: Sim) -> list[tuple[Any, Any]]:
    return sim.check_collisions()[0]


def test_a_robot_collides_with_the_legs_of_a_gate_and_passes_between_them(make_sim: MakeSim) -> None:
    sim = make_sim()
    gate(sim)
    moved = ball(sim, 0.0)
    assert pairs(sim) == []
    moved.set_pose(fs.Pose.from_xyz(3.0, 0.8, 0.3))
    assert len(pairs(sim)) == 1
    moved.set_pose(fs.Pose.from_xyz(3.0, 0.0, 0.7))
    assert len(pairs(sim)) == 1


def test_lidars_maps_and_cameras_see_each_shape(make_sim: MakeSim) -> None:
    sim = make_sim(enable_floor=False)
    obj = gate(sim)
    lidar = sim.add_sensor("lidar", pose=[0.0, 0.0, 0.3], rays=3, angle_min=-0.32175, angle_max=0.32175)
    ranges = lidar.read().ranges
    assert np.isinf(ranges[1]), "between the legs"
    np.testing.assert_allclose(ranges[[0, 2]], 2.9 / np.cos(0.32175), rtol=1e-3)
    camera = sim.add_sensor("camera", pose=[0.0, 0.0, 0.5], channels=["rgb", "ids"], width=160, height=120)
    reading = camera.read()
    assert reading.ids[60, 80] == -1, "between the legs"
    seen = reading.rgb[reading.ids == obj.object_id]
    assert (seen.argmax(1) == 0).any() and (seen.argmax(1) == 2).any()
    obj.set_collision_mode("static")
    grid = fs.occupancy_grid(sim.world, resolution=0.05, z=0.3)
    legs_and_middle = np.array([[3.0, -1.0], [3.0, 0.0], [3.0, 1.0]])
    assert grid.values_at(legs_and_middle).tolist() == [OCCUPIED, FREE, OCCUPIED]


def test_the_engine_has_the_same_shapes_and_the_mass(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    obj = gate(sim, mass=7.0)
    assert len(sim.bullet.getCollisionShapeData(obj.body_id, -1)) == 3
    assert sim.bullet.getDynamicsInfo(obj.body_id, -1)[0] == pytest.approx(7.0)
    obj.set_pose(fs.Pose.from_xyz(3.0, 0.0, 0.5))
    sim.run_simulation(2.0)
    assert obj.get_pose().z == pytest.approx(0.0, abs=0.01), "it fell on its legs"


def test_the_inertia_is_that_of_the_engine_for_the_same_shapes(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    obj = gate(sim, mass=7.0)
    make = sim.bullet.createCollisionShapeArray
    shape = make(
        shapeTypes=[sim.bullet.GEOM_BOX] * 3,
        halfExtents=[list(part.half_extents) for part in GATE],
        collisionFramePositions=[list(part.frame_pose.position) for part in GATE],
    )
    own = sim.bullet.createMultiBody(7.0, shape, basePosition=[9, 9, 9])
    mine, theirs = (sim.bullet.getDynamicsInfo(body, -1)[2] for body in (obj.body_id, own))
    np.testing.assert_allclose(mine, theirs, rtol=1e-2)


def test_equal_bodies_share_a_model(make_sim: MakeSim) -> None:
    sim = make_sim()
    for index in range(3):
        sim.spawn(fs.SimObjectSpawnParams(GATE, GATE, fs.Pose.from_xyz(3.0 * index, 0.0, 0.0)))
    assert len(sim.world.models) == 1


def test_robots_may_have_several_shapes_too(make_sim: MakeSim) -> None:
    sim = make_sim()
    robot = sim.spawn(fs.AgentSpawnParams(GATE, GATE, motion_mode="omnidirectional"))
    robot.set_goal(fs.Pose.from_xyz(1.0, 0.0, 0.0))
    sim.run_simulation(5.0)
    assert robot.is_goal_reached()
    assert robot.get_num_joints() == 0


def test_a_scenario_lists_shapes(make_sim: MakeSim) -> None:
    entry = {
        "name": "gate",
        "pose": [3.0, 0.0, 0.0],
        "shape": [
            {"shape_type": "box", "half_extents": [0.1, 0.1, 0.4], "frame_pose": [0.0, -1.0, 0.4]},
            {"shape_type": "box", "half_extents": [0.1, 0.1, 0.4], "frame_pose": [0.0, 1.0, 0.4]},
        ],
    }
    sim = Sim.from_dict({"simulation": {"gui": False}, "objects": [entry]})
    with sim:
        assert sim.world.half_extents[sim.get_object("gate").row].tolist() == pytest.approx([0.1, 1.1, 0.4])
    entry["shape"][1]["radius"] = -1.0  # type: ignore[index]
    with pytest.raises(fs.ConfigError, match=r"objects\[0\].shape\[1\].radius"):
        Sim.from_dict({"simulation": {"gui": False}, "objects": [entry]})


def test_what_does_not_fit_several_shapes_is_refused(make_sim: MakeSim) -> None:
    sim = make_sim()
    with pytest.raises(fs.InvalidValueError, match="give each its frame_pose"):
        gate(sim, collision_frame_pose=fs.Pose.from_xyz(0, 0, 1))
    with pytest.raises(fs.InvalidValueError, match="plane is unbounded"):
        sim.spawn(fs.SimObjectSpawnParams(None, [BALL, fs.ShapeParams("plane")]))


# ---- meshes from arrays ----------------------------------------------------------------------------------------------


def test_a_mesh_from_arrays_is_as_large_for_everyone(make_sim: MakeSim) -> None:
    sim = make_sim(enable_floor=False)
    shape = fs.ShapeParams("mesh", vertices=CORNERS, indices=FACES, rgba_color=RED)
    obj = sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(3.0, 0.0, 0.0)))
    assert sim.world.half_extents[obj.row].tolist() == pytest.approx([0.5, 0.3, 0.2])
    np.testing.assert_allclose(sim.get_aabbs()[obj.object_id][0], [2.5, -0.3, -0.2])
    lower, upper = sim.bullet.getAABB(obj.body_id)
    np.testing.assert_allclose([lower, upper], [[2.5, -0.3, -0.2], [3.5, 0.3, 0.2]], atol=0.01)
    assert sim.add_sensor("range", pose=[0.0, 0.0, 0.0], range_max=9.0).read().range == pytest.approx(2.5, abs=1e-3)
    camera = sim.add_sensor("camera", pose=[0.0, 0.0, 0.0], channels=["depth", "ids"], width=64, height=48)
    assert camera.read().depth[24, 32] == pytest.approx(2.5, rel=1e-3)
    touching = sim.spawn(fs.SimObjectSpawnParams(BALL, BALL, fs.Pose.from_xyz(3.6, 0.0, 0.0)))
    assert len(pairs(sim)) == 1
    sim.remove_object(touching)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"vertices": CORNERS}, "both vertices and indices"),
        ({"vertices": CORNERS, "indices": [0, 1, 99]}, "no vertex 99"),
        ({"vertices": CORNERS, "indices": [0, 1, -1]}, "counted from 0"),
        ({"vertices": CORNERS, "indices": [0, 1]}, "indices"),
        ({"vertices": CORNERS, "indices": [0, 1, 1.5]}, "whole numbers"),
        ({"vertices": [[0, 0, float("nan")]], "indices": [0, 0, 0]}, "vertices"),
        ({"vertices": [], "indices": FACES}, "from 1 to"),
        ({"vertices": CORNERS, "indices": FACES, "mesh_path": "x.obj"}, "either mesh_path"),
    ],
)
def test_wrong_arrays_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(fs.FleetSimError, match=words):
        fs.ShapeParams("mesh", **settings).to_geometry()


def test_messages_may_not_bring_meshes(make_sim: MakeSim) -> None:
    shape = {"shape_type": "mesh", "vertices": CORNERS, "indices": FACES}
    message = fs.Spawn(objects=({"name": "wedge", "shape": shape},), remote=True)
    with pytest.raises(fs.ConfigError, match="messages may not bring meshes"):
        make_sim().dispatcher.dispatch(message)


# ---- objects from descriptions ---------------------------------------------------------------------------------------


def test_an_object_may_come_from_a_description(make_sim: MakeSim) -> None:
    sim = make_sim()
    table = sim.spawn(fs.SimObjectSpawnParams(urdf_path="table", name="table"))
    assert not isinstance(table, fs.Agent) and sim.agents == []
    under = sim.spawn(fs.SimObjectSpawnParams(BALL, BALL, fs.Pose.from_xyz(0.0, 0.0, 0.25)))
    assert pairs(sim) == [], "below the top of the table"
    under.set_pose(fs.Pose.from_xyz(0.0, 0.0, 0.6))
    assert len(pairs(sim)) == 1


def test_an_object_from_a_description_has_its_mass_where_asked(make_sim: MakeSim, tmp_path: Path) -> None:
    sim = make_sim(physics=True, timestep=0.02)
    file = tmp_path / "crate.urdf"
    file.write_text(
        '<robot name="crate"><link name="crate"><inertial><mass value="3"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" '
        'iyz="0" izz="1"/></inertial><collision><geometry><box size="1 1 1"/></geometry></collision></link></robot>'
    )
    crate = sim.spawn(fs.SimObjectSpawnParams(urdf_path=str(file), mass=None, initial_pose=fs.Pose.from_xyz(0, 0, 2)))
    assert crate.mass == 3.0
    sim.run_simulation(2.0)
    assert crate.get_pose().z == pytest.approx(0.5, abs=0.01)


def test_an_object_with_joints_is_refused(make_sim: MakeSim) -> None:
    with pytest.raises(fs.InvalidValueError, match="spawn it as an Agent"):
        make_sim().spawn(fs.SimObjectSpawnParams(urdf_path="panda"))
