"""Bodies of several shapes, meshes given as arrays, objects from descriptions: seen alike by all that look at them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.base.arrays import Floats
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
        ({"vertices": CORNERS, "indices": [0, 1, float("nan")]}, "whole numbers"),
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


# ---- Sizes of shapes and angles of poses: what has no effect, or another than meant, is refused ----------------------


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        (
            "box",
            {"radius": 1.0},
            "radius: for a sphere or cylinder or capsule only, not for a box; it has half_extents",
        ),
        ("sphere", {"half_extents": (1.0, 1.0, 1.0)}, "half_extents: for a box only, not for a sphere; it has radius"),
        ("sphere", {"height": 2.0}, "height: for a cylinder"),
        ("plane", {"radius": 2.0}, "not for a plane; it has no size"),
        ("cylinder", {"mesh_scale": (2.0, 2.0, 2.0)}, "mesh_scale: for a mesh only, not for a cylinder"),
        ("box", {"field_size": (2.0, 2.0)}, "field_size: for a heightfield only, not for a box"),
    ],
)
def test_a_size_that_a_shape_does_not_have_is_refused(kind: Any, given: dict[str, Any], reason: str) -> None:
    with pytest.raises(fs.InvalidValueError, match=reason):
        fs.ShapeParams(kind, **given)


def test_a_size_that_is_assigned_later_is_refused_when_the_shape_is_used() -> None:
    shape = fs.ShapeParams("box")
    # Not at once: the kind of the shape may be changed next.
    shape.radius = 1.0
    with pytest.raises(fs.InvalidValueError, match="radius: for a sphere"):
        shape.to_geometry()
    shape.shape_type = "sphere"
    assert shape.to_geometry() is not None


@pytest.mark.parametrize(
    ("pose", "reason"),
    [
        ([0, 0, 0, 90], "angles are in radians, at most one turn, got 90; 90 degrees are 1.5708"),
        ({"position": [0, 0, 0], "yaw": -180}, "-180 degrees are -3.1416"),
        ({"position": [0, 0, 0], "rpy": [0, 45, 0]}, "45 degrees are 0.7854"),
        ([0, 0, 0, 1e9], "at most one turn, got 1e\\+09$"),
    ],
)
def test_degrees_in_a_pose_are_refused(pose: Any, reason: str) -> None:
    scenario = {"simulation": {"gui": False}, "robots": [{"name": "a", "pose": pose}]}
    with pytest.raises(fs.ConfigError, match=reason):
        fs.MultiRobotSimulationCore.from_dict(scenario)


def test_degrees_in_a_heading_are_refused() -> None:
    scenario = {"simulation": {"gui": False}, "robots": [{"name": "a", "pose": [0, 0, 0], "yaw": 90}]}
    with pytest.raises(fs.ConfigError, match=r"robots\[0\].*angles are in radians.* 90 degrees are 1.5708"):
        fs.MultiRobotSimulationCore.from_dict(scenario)


def test_a_whole_turn_is_an_angle() -> None:
    scenario = {"simulation": {"gui": False}, "robots": [{"name": "a", "pose": [0, 0, 0, -6.2832]}]}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        assert sim.get_object("a").get_pose().yaw == pytest.approx(0.0, abs=1e-4)


# ---- Terrain from heights: what stands, rolls and looks on it --------------------------------------------------------


Maker = Callable[..., Sim]
BOX = fs.ShapeParams("box", half_extents=(0.3, 0.3, 0.1))


def hills(lines: int = 30, columns: int = 40) -> Floats:
    """Heights (lines, columns) of 8 m along x and 6 m along y."""
    x, y = np.meshgrid(np.linspace(-4, 4, columns), np.linspace(-3, 3, lines))
    return np.asarray(0.5 * np.sin(x) * np.cos(1.3 * y) + 0.1 * x)


def put_hills(sim: Sim, heights: Any = None, **settings: Any) -> Any:
    given = hills() if heights is None else heights
    ground = fs.ShapeParams("heightfield", heights=np.asarray(given).tolist(), field_size=(8.0, 6.0))
    settings = {"pickable": False, "name": "ground", **settings}
    return sim.spawn(fs.SimObjectSpawnParams(ground, ground, **settings))


def height_at(sim: Sim, x: float, y: float) -> float:
    """Return what a ray of PyBullet from above finds."""
    return float(sim.bullet.rayTest([x, y, 50.0], [x, y, -50.0])[0][3][2])


def test_the_ground_is_where_its_heights_say(make_sim: Maker) -> None:
    sim = make_sim(enable_floor=False)
    put_hills(sim)
    heights = hills()
    for line, column in ((0, 0), (3, 7), (14, 22), (28, 38)):
        x, y = -4 + 8 * column / 39, -3 + 6 * line / 29
        assert height_at(sim, x + 1e-4, y + 1e-4) == pytest.approx(heights[line, column], abs=2e-3)
        assert sim.queries.ray_cast((x, y, 9), (x, y, -9)).points[0, 2] == pytest.approx(
            heights[line, column], abs=1e-6
        )
    lower, upper = sim.get_aabbs()[0]
    np.testing.assert_allclose(lower, [-4, -3, heights.min()])
    np.testing.assert_allclose(upper, [4, 3, heights.max()])


def test_its_triangles_are_those_of_a_height_field_of_pybullet(make_sim: Maker) -> None:
    sim = make_sim(enable_floor=False)
    heights = np.random.default_rng(4).random((6, 9))
    put_hills(sim, heights)
    shape = sim.bullet.createCollisionShape(
        sim.bullet.GEOM_HEIGHTFIELD,
        meshScale=[1.0, 1.2, 1.0],
        heightfieldData=heights.ravel().tolist(),
        numHeightfieldRows=9,
        numHeightfieldColumns=6,
    )
    sim.bullet.createMultiBody(0, shape, basePosition=[20, 0, 0.5 * (heights.min() + heights.max())])
    for x, y in np.random.default_rng(1).uniform((-3.9, -2.9), (3.9, 2.9), (60, 2)):
        assert height_at(sim, x, y) == pytest.approx(height_at(sim, x + 20.0, y), abs=1e-4)


def test_robots_touch_the_ground_only_where_they_are_in_it(sim: Sim) -> None:
    ground = put_hills(sim)
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, fs.Pose.from_xyz(-1.5, 0, 0.2)))
    assert sim.check_collisions()[0] == []
    robot.set_pose(fs.Pose.from_xyz(1.5, 0, 0.6))
    assert sim.check_collisions()[0] == [(ground, robot)]


def test_balls_roll_into_the_valleys(make_sim: Maker) -> None:
    sim = make_sim(physics=True, enable_floor=False)
    bowl = np.array([[0.2 * (x * x + y * y) for x in np.linspace(-3, 3, 25)] for y in np.linspace(-3, 3, 25)])
    put_hills(sim, bowl)
    ball = sim.spawn(
        fs.SimObjectSpawnParams(BALL, BALL, fs.Pose.from_xyz(2, 1, 1.5), mass=1.0, linear_damping=0.8, friction=0.2)
    )
    for _ in range(150):
        sim.step_once()
    x, y, z = ball.get_pose().position
    assert math.hypot(x, y) < 0.4
    assert z == pytest.approx(height_at_bowl(x, y) + 0.2, abs=0.06)


def height_at_bowl(x: float, y: float) -> float:
    return 0.2 * ((0.75 * x) ** 2 + y * y)


def test_lidars_cameras_and_the_map_see_the_hills(make_sim: Maker) -> None:
    sim = make_sim(enable_floor=False)
    put_hills(sim)
    place = (-1.5, -0.5, 0.1)
    lidar = sim.add_sensor("lidar", pose=list(place), rays=120)
    angles = lidar.params.angles
    ends = np.array(place) + 10.0 * np.stack((np.cos(angles), np.sin(angles), np.zeros(120)), axis=1)
    found = sim.bullet.rayTestBatch(np.broadcast_to(place, ends.shape).tolist(), ends.tolist())
    expected = np.array([10.0 * hit[2] if hit[0] >= 0 else math.inf for hit in found])
    assert 10 < np.isfinite(expected).sum() < 110
    np.testing.assert_allclose(lidar.read().ranges, expected, atol=0.01)
    camera = sim.add_sensor("camera", pose=list(place), width=33, height=25, channels=["depth", "ids"])
    reading = camera.read()
    assert reading.ids[12, 16] == 0
    assert reading.depth[12, 16] == pytest.approx(expected[60], abs=0.01)
    grid = fs.occupancy_grid(sim.world, z=0.1)
    hits = np.array(place) + np.where(np.isfinite(expected), expected + 0.01, 0.0)[:, None] * (ends - place) / 10.0
    marked = grid.values_at(hits[np.isfinite(expected)]) > 0
    assert marked.mean() > 0.6


def test_a_picture_has_its_largest_y_on_top(make_sim: Maker, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((3, 4), np.uint8)
    pixels[0, 3] = 255
    pixels[2, 0] = 51
    image.fromarray(pixels).save(tmp_path / "hill.png")
    image.fromarray(pixels.astype(np.uint16) * 257).save(tmp_path / "fine.png")
    for name in ("hill.png", "fine.png"):
        sim = make_sim(enable_floor=False)
        shape = fs.ShapeParams("heightfield", height_image=str(tmp_path / name), height=2.0, field_size=(6.0, 4.0))
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))
        found = sim.queries.ray_cast([(3, 2, 9), (-3, -2, 9), (-3, 2, 9)], [(3, 2, -9), (-3, -2, -9), (-3, 2, -9)])
        np.testing.assert_allclose(found.points[:, 2], [2.0, 0.4, 0.0], atol=1e-9)
    image.fromarray(np.zeros((3, 4, 3), np.uint8)).save(tmp_path / "colors.png")
    shape = fs.ShapeParams("heightfield", height_image=str(tmp_path / "colors.png"))
    with pytest.raises(fs.InvalidValueError, match="not a grayscale picture"):
        make_sim().spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))


def test_a_picture_that_changed_is_read_again(make_sim: Maker, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    sim, heights = make_sim(enable_floor=False), []
    for value in (0, 255):
        image.fromarray(np.full((3, 3), value, np.uint8)).save(tmp_path / "hill.png")
        shape = fs.ShapeParams("heightfield", height_image=str(tmp_path / "hill.png"), height=2.0)
        hill = sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))
        found = sim.queries.ray_cast((0.0, 0.0, 9.0), (0.0, 0.0, -9.0))
        heights.append(float(found.points[0, 2]))
        sim.remove_object(hill)
    assert heights == [0.0, 2.0]


def test_a_shape_is_given_only_what_it_has() -> None:
    triangle: dict[str, Any] = {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "indices": [[0, 1, 2]]}
    for kind in ("box", "heightfield", None):
        for given in (triangle, {"mesh_path": "hall.obj"}):
            with pytest.raises(fs.InvalidValueError, match="mesh_path, vertices and indices: for a mesh only"):
                fs.ShapeParams(kind, **given).to_geometry()
    with pytest.raises(fs.InvalidValueError, match="for a heightfield only, not for a shape without a shape_type"):
        fs.ShapeParams(heights=[[0, 1], [1, 0]]).to_geometry()
    with pytest.raises(fs.InvalidValueError, match="mesh_scale: for a mesh only, not for a heightfield"):
        fs.ShapeParams("heightfield", heights=[[0, 1], [1, 0]], mesh_scale=(2, 2, 2)).to_geometry()


def test_wrong_height_fields_are_refused(sim: Sim) -> None:
    def spawn(**settings: Any) -> None:
        shape = fs.ShapeParams(**{"shape_type": "heightfield", **settings})
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, pickable=False))

    with pytest.raises(fs.InvalidValueError, match="either heights or height_image"):
        spawn()
    with pytest.raises(fs.InvalidValueError, match="either heights or height_image"):
        spawn(heights=[[0, 1], [1, 0]], height_image="hill.png")
    with pytest.raises(fs.InvalidValueError, match="there is no file"):
        spawn(height_image="nothing.png")
    with pytest.raises(fs.InvalidValueError, match="for a heightfield only, not for a box"):
        spawn(shape_type="box", heights=[[0, 1], [1, 0]])
    with pytest.raises(fs.ConfigError, match="at least 2 lines of 2 numbers"):
        spawn(heights=[[0, 1]])
    with pytest.raises(fs.ConfigError, match="lines of equally many numbers"):
        spawn(heights=[[0, 1], [2]])
    with pytest.raises(fs.ConfigError, match="numbers within"):
        spawn(heights=[[0, math.nan], [1, 2]])
    with pytest.raises(fs.InvalidValueError, match="mass: a concave mesh is a surface"):
        put_hills(sim, mass=1.0)
