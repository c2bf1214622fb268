"""Bodies: made in bulk as one by one, gone when removed, without leaks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from bullet_scene import BOX, Scene

import fleet_sim as fs
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.engines.bullet.client import data_path
from fleet_sim.engines.bullet.engine import MOST_REMOVED, BulletCheckpoints
from fleet_sim.engines.bullet.handle import adopted_shape
from fleet_sim.world.shapes import BodyShape, Geometry

pytest.importorskip("pybullet_data")

TURNED = (0.0, 0.0, float(np.sin(0.25)), float(np.cos(0.25)))
GEOMETRIES = {
    "box": BOX,
    "sphere": Geometry(ShapeKind.SPHERE, radius=0.3),
    "cylinder": Geometry(ShapeKind.CYLINDER, radius=0.2, height=1.0),
    "capsule": Geometry(ShapeKind.CAPSULE, radius=0.2, height=1.0),
    "mesh": Geometry(ShapeKind.MESH, mesh_path=data_path("duck.obj"), mesh_scale=(0.2, 0.1, 0.3)),
    "offset box": Geometry(ShapeKind.BOX, half_extents=(0.5, 0.2, 0.1), position=(0.3, 0.0, 0.4), orientation=TURNED),
}


def _rss_kb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4.096


def _poses(count: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    turns = quaternions.normalized(generator.normal(size=(count, 4)))
    turns[0] = quaternions.IDENTITY
    return generator.uniform(-20.0, 20.0, (count, 3)), turns


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_batch_equals_one_by_one(make_scene: Callable[..., Scene], name: str) -> None:
    geometry = GEOMETRIES[name]
    shape = BodyShape(geometry, geometry)
    places, turns = _poses(12)
    together, alone = make_scene(), make_scene()
    rows = together.spawn(places, shape, orientation=turns)
    together.mirror.ensure()
    for place, turn in zip(places, turns, strict=True):
        together_row = alone.spawn(place, shape, orientation=turn)
        alone.mirror.ensure(together_row)
    for scene in (together, alone):
        for row in rows:
            body = scene.mirror.body_id(row)
            assert scene.client.getBasePositionAndOrientation(body)[0] == tuple(places[row])
            # PyBullet may report the negative quaternion, which is the same turn.
            alike = abs(np.dot(scene.client.getBasePositionAndOrientation(body)[1], turns[row]))
            assert alike == pytest.approx(1.0, abs=1e-12)
    boxes = [np.array([scene.client.getAABB(scene.mirror.body_id(row)) for row in rows]) for scene in (together, alone)]
    np.testing.assert_allclose(boxes[0], boxes[1], atol=1e-12)
    assert (boxes[0][:, 1] > boxes[0][:, 0]).all()


def test_frame_offsets_are_where_they_should_be(scene: Scene) -> None:
    geometry = Geometry(ShapeKind.BOX, half_extents=(0.5, 0.2, 0.1), position=(0.3, 0.0, 0.4))
    row = scene.spawn([1.0, 2.0, 3.0], BodyShape(geometry, geometry))
    lower, upper = scene.client.getAABB(scene.mirror.body_id(row[0]))
    np.testing.assert_allclose(lower, [0.8, 1.8, 3.3], atol=1e-9)
    np.testing.assert_allclose(upper, [1.8, 2.2, 3.5], atol=1e-9)
    assert scene.client.getBasePositionAndOrientation(scene.mirror.body_id(row[0]))[0] == (1.0, 2.0, 3.0)


def test_mixed_shapes_and_masses_keep_their_rows(scene: Scene) -> None:
    sphere = BodyShape(None, GEOMETRIES["sphere"])
    boxes = scene.spawn(np.arange(9.0).reshape(3, 3))
    balls = scene.spawn(np.arange(9.0, 18.0).reshape(3, 3), sphere)
    heavy = scene.spawn(np.arange(18.0, 27.0).reshape(3, 3), mass=2.0, dynamic=True)
    scene.mirror.ensure()
    for row in (*boxes, *balls, *heavy):
        body = scene.mirror.body_id(row)
        assert scene.client.getBasePositionAndOrientation(body)[0] == tuple(scene.world.position[row])
        assert scene.client.getDynamicsInfo(body, -1)[0] == (2.0 if row in heavy else 0.0)
        assert scene.mirror.rows_of_bodies([body]).tolist() == [row]
        kind = scene.client.getCollisionShapeData(body, -1)[0][2]
        assert kind == (scene.client.GEOM_SPHERE if row in balls else scene.client.GEOM_BOX)


def test_only_the_row_asked_for_gets_a_body(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((5, 3)))
    scene.mirror.body_id(rows[2])
    assert scene.client.getNumBodies() == 1


def test_batches_after_removals_know_their_bodies(scene: Scene) -> None:
    """PyBullet reports wrong ids for a batch that fills the gaps of removed bodies."""
    generator = np.random.default_rng(1)
    scene.mirror.ensure(scene.spawn(generator.normal(size=(20, 3))))
    for _ in range(5):
        scene.world.release(generator.choice(scene.world.rows, 7, replace=False))
        scene.spawn(generator.normal(size=(9, 3)))
        scene.mirror.ensure()
        for row in scene.world.rows:
            body = scene.mirror.body_id(row)
            assert scene.client.getBasePositionAndOrientation(body)[0] == tuple(scene.world.position[row])
    assert scene.client.getNumBodies() == len(scene.world)


def test_batches_survive_removals_by_the_user(scene: Scene) -> None:
    foreign = [scene.client.createMultiBody(0.0, -1, -1, [50.0 + i, 0.0, 0.0]) for i in range(4)]
    scene.mirror.ensure(scene.spawn(np.arange(9.0).reshape(3, 3)))
    scene.client.removeBody(foreign[1])
    scene.client.removeBody(foreign[2])
    rows = scene.spawn(np.arange(30.0, 48.0).reshape(6, 3))
    scene.mirror.ensure()
    for row in rows:
        body = scene.mirror.body_id(row)
        assert scene.client.getBasePositionAndOrientation(body)[0] == tuple(scene.world.position[row])


def test_removed_entities_leave_no_body(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((4, 3)))
    scene.mirror.ensure()
    body = scene.mirror.body_id(rows[1])
    scene.world.release(rows[1:3])
    assert scene.client.getNumBodies() == 2
    assert scene.mirror.rows_of_bodies([body]).tolist() == [-1]


@pytest.mark.slow
def test_ten_thousand_cycles_leave_nothing_behind(scene: Scene) -> None:
    def cycles() -> float:
        before = _rss_kb()
        for _ in range(200):
            rows = scene.spawn(np.zeros((50, 3)))
            scene.mirror.ensure()
            scene.world.release(rows)
        return _rss_kb() - before

    cycles()
    assert scene.client.getNumBodies() == 0
    assert scene.world.capacity <= 64
    scene.mirror.reset()
    # PyBullet itself keeps about one kB of each removed body until its world is reset, and then uses it again.
    assert cycles() < 2_000.0
    assert scene.client.getNumBodies() == 0


def test_cycles_that_nobody_looks_at_never_reach_pybullet(scene: Scene) -> None:
    for _ in range(100):
        scene.world.release(scene.spawn(np.zeros((100, 3))))
    assert not scene.client.connected


def test_a_mesh_after_reset_has_its_shapes(scene: Scene) -> None:
    shape = BodyShape(GEOMETRIES["mesh"], GEOMETRIES["mesh"])
    scene.mirror.ensure(scene.spawn([0.0, 0.0, 0.0], shape))
    scene.mirror.reset()
    scene.world.release(scene.world.rows)
    row = scene.spawn([1.0, 0.0, 0.0], shape)
    body = scene.mirror.body_id(row[0])
    assert len(scene.client.getVisualShapeData(body)) == 1
    assert len(scene.client.getCollisionShapeData(body, -1)) == 1


def test_living_rows_get_their_bodies_again_after_reset(scene: Scene) -> None:
    rows = scene.spawn(np.arange(6.0).reshape(2, 3))
    scene.mirror.ensure()
    scene.mirror.reset()
    assert scene.client.getNumBodies() == 0
    scene.mirror.ensure()
    assert scene.client.getNumBodies() == 2
    body = scene.mirror.body_id(rows[1])
    assert scene.client.getBasePositionAndOrientation(body)[0] == (3.0, 4.0, 5.0)


def test_two_worlds_in_one_process(make_scene: Callable[..., Scene]) -> None:
    first, second = make_scene(), make_scene()
    shape = BodyShape(GEOMETRIES["mesh"], GEOMETRIES["mesh"])
    one, two = first.spawn([1.0, 0.0, 0.0], shape), second.spawn([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0]], shape)
    first.mirror.ensure()
    second.mirror.ensure()
    assert (first.client.getNumBodies(), second.client.getNumBodies()) == (1, 2)
    first.mirror.close()
    body = second.mirror.body_id(two[1])
    assert second.client.getBasePositionAndOrientation(body)[0] == (3.0, 0.0, 0.0)
    assert one.tolist() == [0]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (BodyShape(None, Geometry(ShapeKind.MESH, mesh_path="missing.obj")), "missing.obj"),
        (BodyShape(model_path="missing.urdf"), "missing.urdf"),
        (BodyShape(model_path=data_path("stadium.sdf")), "3 models"),
    ],
)
def test_unusable_files_are_named(scene: Scene, shape: BodyShape, words: str) -> None:
    scene.spawn([0.0, 0.0, 0.0], shape)
    with pytest.raises(InvalidValueError, match=words):
        scene.mirror.ensure()
    assert scene.client.getNumBodies() == 0


def test_a_broken_mesh_is_named(scene: Scene, tmp_path: Path) -> None:
    path = tmp_path / "broken.obj"
    path.write_text("nothing of use\n")
    scene.spawn([0.0, 0.0, 0.0], BodyShape(None, Geometry(ShapeKind.MESH, mesh_path=str(path))))
    with pytest.raises(InvalidValueError, match=r"broken\.obj"):
        scene.mirror.ensure()


def test_a_models_base_link_is_at_the_columns_pose(scene: Scene) -> None:
    """The base of panda.urdf has its centre of mass 5 cm above its link frame."""
    shape = BodyShape(model_path=data_path("franka_panda/panda.urdf"))
    turn = quaternions.from_eulers(np.array([[0.3, -0.2, 1.0]]))
    row = scene.spawn([1.0, 2.0, 3.0], shape, orientation=turn)
    body = scene.mirror.body_id(row[0])
    for place in ([1.0, 2.0, 3.0], [-4.0, 0.5, 0.0]):
        scene.put(row, place)
        scene.mirror.ensure()
        expected = np.array(place) + quaternions.rotate(turn, np.array([[0.0, 0.0, 0.05]]))[0]
        np.testing.assert_allclose(scene.client.getBasePositionAndOrientation(body)[0], expected, atol=1e-9)
        first_link = scene.client.getLinkState(body, 0, computeForwardKinematics=1)[4]
        expected = np.array(place) + quaternions.rotate(turn, np.array([[0.0, 0.0, 0.333]]))[0]
        np.testing.assert_allclose(first_link, expected, atol=1e-6)


def test_a_registered_body_brings_its_pose_and_goes_with_its_entity(scene: Scene) -> None:
    box = scene.client.createCollisionShape(scene.client.GEOM_BOX, halfExtents=[1.0, 2.0, 3.0])
    turn = quaternions.from_yaws(np.array([0.5]))[0]
    body = scene.client.createMultiBody(0.0, box, -1, [5.0, 6.0, 7.0], turn.tolist())
    row = scene.spawn([0.0, 0.0, 0.0])
    scene.mirror.adopt(int(row[0]), body)
    np.testing.assert_allclose(scene.world.position[row[0]], [5.0, 6.0, 7.0])
    np.testing.assert_allclose(scene.world.orientation[row[0]], turn)
    shape = adopted_shape(scene.client, body)
    assert shape is not None and shape.collision is not None
    assert shape.collision.half_extents == pytest.approx((1.0, 2.0, 3.0))
    with pytest.raises(InvalidValueError, match="belongs to"):
        scene.mirror.adopt(int(scene.spawn([0.0, 0.0, 0.0])[0]), body)
    with pytest.raises(InvalidValueError, match="77"):
        scene.mirror.adopt(int(row[0]), 77)
    scene.world.release(row)
    assert not scene.mirror.bodies.exists(body)


def test_pictures_of_bodies_made_without_looks_are_refused(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(visuals=False)
    body = scene.mirror.body_id(scene.spawn([0.0, 0.0, 0.0])[0])
    assert scene.client.getCollisionShapeData(body, -1)
    with pytest.raises(StateError, match="engine_visuals"):
        scene.mirror.capture(8, 8, None, None, links=False, shadow=False, lit_from=(0, 0, 1))


# ---- removed bodies --------------------------------------------------------------------------------------------------


MakeSim = Callable[..., fs.MultiRobotSimulationCore]
BOX_removed_bodies = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))


def come_and_go(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Spawn and remove so many crates with a body each."""
    for _ in range(count // 100):
        crates = [
            fs.SimObjectSpawnParams(BOX_removed_bodies, BOX_removed_bodies, fs.Pose.from_xyz(x, 0.0, 0.1), mass=1.0)
            for x in range(100)
        ]
        spawned = [sim.spawn(crate) for crate in crates]
        sim.step_once()
        sim.remove_objects(spawned)


def falling(sim: fs.MultiRobotSimulationCore) -> str:
    """Let two crates fall onto each other; return the state."""
    for height in (0.2, 0.6):
        sim.spawn(
            fs.SimObjectSpawnParams(
                BOX_removed_bodies, BOX_removed_bodies, fs.Pose.from_xyz(0.02, 0.0, height), mass=1.0
            )
        )
    for _ in range(10):
        sim.step_once()
    return sim.state_hash()


@pytest.mark.slow
@pytest.mark.parametrize("before", [100, MOST_REMOVED + 100])
def test_a_reset_is_the_same_however_many_bodies_were_removed(make_sim: MakeSim, before: int) -> None:
    fresh, used = make_sim(physics=True), make_sim(physics=True)
    for sim in (fresh, used):
        sim.spawn(fs.SimObjectSpawnParams(BOX_removed_bodies, BOX_removed_bodies, name="wall"))
        sim.initialize_simulation()
    come_and_go(used, before)
    used.reset()
    fresh.reset()
    assert falling(used) == falling(fresh)


def test_a_reset_empties_the_engine_of_many_removed_bodies(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    mirror = scene.mirror
    checkpoints = BulletCheckpoints(mirror)
    saved = checkpoints.save()
    rows = scene.spawn(np.zeros((MOST_REMOVED + 1, 3)), BodyShape())
    mirror.ensure(rows)
    scene.world.release(rows)
    epoch = mirror.client.epoch
    checkpoints.restore(saved)
    assert mirror.bodies.removed == 0 and mirror.client.epoch > epoch


def test_an_engine_that_the_user_has_set_up_is_kept(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    shape = sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.1)
    sim.bullet.setGravity(0.0, 0.0, 0.0)
    sim.initialize_simulation()
    come_and_go(sim, MOST_REMOVED + 100)
    sim.reset()
    crate = sim.spawn(
        fs.SimObjectSpawnParams(BOX_removed_bodies, BOX_removed_bodies, fs.Pose.from_xyz(0.0, 0.0, 1.0), mass=1.0)
    )
    sim.step_once()
    assert crate.position[2] == pytest.approx(1.0)
    assert sim.bullet.createMultiBody(0.0, shape) >= 0


# ---- A mesh file that is written again counts as it is now for whatever is spawned from then on ----------------------


Sim = fs.MultiRobotSimulationCore

FACES = "124 143 578 586 156 162 348 387 137 175 268 284"


def write_box(file: Path, height: float, moment: int) -> None:
    """Write a box of 1 x 1 m that stands on z = 0; `moment` is the time of the file, in s."""
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, height)]
    lines = [*(f"v {x} {y} {z}" for x, y, z in corners), *(f"f {' '.join(face)}" for face in FACES.split())]
    file.write_text("\n".join(lines) + "\n")
    os.utime(file, (moment, moment))


def new_sim() -> Sim:
    return Sim(fs.SimulationParams(gui=False, monitor=False, physics=True, enable_floor=False))


def heights(sim: Sim, x: float) -> list[float]:
    """Return the height at `x` as PyBullet's rays and those of the columns see it."""
    start, end = [x, 0.1, 5.0], [x, 0.1, -5.0]
    columns = sim.queries.ray_cast([start], [end]).points[0, 2]
    return [sim.bullet.rayTest(start, end)[0][3][2], float(columns)]


@pytest.mark.parametrize("concave", [True, False])
def test_a_shape_of_a_mesh_that_changed(tmp_path: Path, concave: bool) -> None:
    file = tmp_path / "box.obj"
    shape = fs.ShapeParams("mesh", mesh_path=str(file), concave=concave)
    sim = new_sim()
    for moment, height in enumerate((0.5, 2.0, 1.0)):
        write_box(file, height, moment)
        x = 3.0 * moment
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose((x, 0, 0)), collision_mode="static", pickable=False))
        assert heights(sim, x) == pytest.approx([height] * 2, abs=2e-3)


def test_the_mesh_of_a_model_that_changed(tmp_path: Path) -> None:
    mesh = '<geometry><mesh filename="box.obj"/></geometry>'
    urdf = f'<robot name="r"><link name="base"><visual>{mesh}</visual><collision>{mesh}</collision></link></robot>'
    (tmp_path / "r.urdf").write_text(urdf)
    sim = new_sim()
    for moment, height in enumerate((0.5, 2.0, 1.0)):
        write_box(tmp_path / "box.obj", height, moment)
        pose = fs.Pose((3.0 * moment, 0, 0))
        robot = fs.Agent.from_urdf(str(tmp_path / "r.urdf"), pose, sim_core=sim)
        assert heights(sim, 3.0 * moment) == pytest.approx([height] * 2, abs=2e-3)
        assert np.asarray(sim.get_aabbs()[robot.object_id][1])[2] == pytest.approx(height)


def test_a_drawn_camera_sees_a_mesh_that_changed(tmp_path: Path) -> None:
    file = tmp_path / "box.obj"
    shape = fs.ShapeParams("mesh", mesh_path=str(file))
    camera = {
        "type": "camera",
        "width": 9,
        "height": 9,
        "pose": {"position": [0, 0, 5], "rpy": [0, np.pi / 2, 0]},
        "near": 0.1,
        "far": 10,
    }
    sim = new_sim()
    robot = sim.spawn(fs.AgentSpawnParams(sensors=[camera], initial_pose=fs.Pose((0, 0, 0))))
    for moment, height in enumerate((0.5, 2.0)):
        write_box(file, height, moment)
        box = sim.spawn(fs.SimObjectSpawnParams(shape, shape, collision_mode="static"))
        sim.step_once()
        assert 5.0 - robot.sensors[0].read().depth[4, 4] == pytest.approx(height, abs=2e-3)
        sim.remove_object(box)
