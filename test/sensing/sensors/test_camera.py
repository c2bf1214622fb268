"""Cameras as sensors: mounted, due, spread over steps, with noise, and with the stamp of what they show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.sensing.sensors.lidar import draw_scans
from fleet_sim.sensing.sensors.sensor import CameraSensorParams

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
SMALL = {"width": 64, "height": 48}
TARGET = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=(0.9, 0.1, 0.1, 1.0))


def target(sim: Sim, x: float, y: float, z: float = 0.5) -> fs.SimObject:
    obj: fs.SimObject = sim.spawn(fs.SimObjectSpawnParams(TARGET, TARGET, fs.Pose.from_xyz(x, y, z)))
    return obj


def test_readings_have_the_intrinsics_of_their_picture(sim: Sim) -> None:
    """A point cloud made of the depth lies on what is there."""
    target(sim, 3.0, 0.0)
    camera = sim.add_sensor("camera", pose=[0.0, 0.0, 0.5], width=160, height=120, far=10.0)
    reading = camera.read()
    assert reading.intrinsics.matrix[0, 0] == pytest.approx(80.0 / math.tan(math.pi / 6))
    points = reading.points()
    front = points[(points[..., 2] < 2.6) & (np.abs(points[..., 1]) < 0.45)]
    assert np.abs(front[:, 0]).max() == pytest.approx(0.5, abs=0.02), "half as wide as the cube"
    assert np.isnan(points[0, 0]).all(), "nothing but sky"
    given = sim.add_sensor("camera", name="given", intrinsics=[100.0, 110.0, 31.0, 23.5], **SMALL)
    assert given.read().intrinsics.matrix.tolist() == [[100.0, 0.0, 31.0], [0.0, 110.0, 23.5], [0.0, 0.0, 1.0]]


@pytest.mark.usefixtures("pictures")
def test_stamps_are_those_of_the_state_shown(sim: Sim, robot: fs.Agent) -> None:
    target(sim, 5.0, 0.0)
    camera = sim.add_sensor("camera", robot, pose=[0.0, 0.0, 0.5], rate=5.0, **SMALL)
    robot.set_velocity(1.0)
    seen: list[tuple[int, float, float]] = []
    camera.on_reading(
        lambda sensor, reading: seen.append((reading.tick, float(reading.depth[24, 32]), robot.get_pose().position[0]))
    )
    for _ in range(10):
        sim.step_once()
    assert [tick for tick, _, _ in seen] == [2, 4, 6, 8, 10]
    for _, depth, x in seen:
        assert depth == pytest.approx(4.5 - x, rel=1e-3)


@pytest.mark.usefixtures("pictures")
def test_nothing_is_rendered_without_a_consumer(make_sim: MakeSim, caplog: pytest.LogCaptureFixture) -> None:
    """Choosing what draws, which the log tells, waits for the first picture somebody wants."""
    sim = make_sim(log_level="info")
    camera = sim.add_sensor("camera", **SMALL)
    for _ in range(3):
        sim.step_once()
    assert camera.latest is None and "drawn by" not in caplog.text
    camera.subscribe()
    sim.step_once()
    assert camera.latest.tick == 4 and caplog.text.count("drawn by") == 1


@pytest.mark.usefixtures("pictures")
def test_cameras_of_one_rate_are_spread_over_the_steps_of_its_period(make_sim: MakeSim) -> None:
    sim = make_sim(timestep=0.02)
    per_step: Counter[int] = Counter()
    for number in range(10):
        camera = sim.add_sensor("camera", name=f"camera{number}", width=8, height=6, rate=10.0)
        camera.on_reading(lambda sensor, reading: per_step.update([reading.tick]))
    for _ in range(20):
        sim.step_once()
    assert sum(per_step.values()) == 40, "ten cameras, four periods"
    assert max(per_step.values()) == 2


def test_readings_do_not_change(sim: Sim) -> None:
    camera = sim.add_sensor("camera", channels=["rgb", "depth", "ids", "links"], **SMALL)
    reading = camera.read()
    for array in (reading.rgb, reading.depth, reading.ids, reading.links, reading.position):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    before = reading.depth.copy()
    target(sim, 3.0, 0.0)
    camera.read()
    np.testing.assert_array_equal(reading.depth, before)


def test_a_scenario_gives_robots_cameras(make_sim: MakeSim) -> None:
    params = fs.AgentSpawnParams(
        TARGET, TARGET, name="seer", sensors=[{"type": "camera", "name": "front", "width": 32, "height": 24}]
    )
    sim = make_sim()
    sim.spawn(params)
    assert sim.get_sensor("seer/front").read().rgb.shape == (24, 32, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"width": 0}, "width"),
        ({"width": 10_000}, "at most 8192"),
        ({"horizontal_fov": 3.2}, "horizontal_fov"),
        ({"near": 5.0, "far": 2.0}, "far: must be beyond near"),
        ({"channels": ["rbg"]}, "channels"),
        ({"channels": []}, "got none"),
        ({"renderer": "opngl"}, "renderer"),
        ({"intrinsics": [0.0, 1.0, 2.0, 3.0]}, "fx"),
        ({"fov": 1.0}, "fov"),
    ],
)
def test_impossible_cameras_are_refused(sim: Sim, settings: dict[str, Any], words: str) -> None:
    with pytest.raises((fs.ConfigError, fs.InvalidValueError), match=words):
        sim.add_sensor("camera", **settings)


def test_points_need_depth(sim: Sim) -> None:
    reading = sim.add_sensor("camera", channels=["rgb"], **SMALL).read()
    with pytest.raises(fs.InvalidValueError, match="channel 'depth'"):
        reading.points()


def test_params_in_code_are_the_same_as_by_name(sim: Sim) -> None:
    camera = sim.add_sensor(CameraSensorParams(name="top", width=16, height=12))
    assert camera.type == "camera" and camera.read().rgb.shape == (12, 16, 3)


# ---- Cameras see robots link by link, whichever renderer draws -------------------------------------------------------


MODELS = sorted((Path(__file__).parents[3] / "urdf").glob("*.urdf"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_renderers_agree_on_robots(sim: fs.MultiRobotSimulationCore, path: Path) -> None:
    robot = sim.spawn(fs.AgentSpawnParams(urdf_path=str(path), initial_pose=fs.Pose.from_yaw(0.0, 0.0, 0.0, 0.7)))
    pose = fs.Pose.from_euler(-2.2, -0.1, 1.2, 0.0, 0.35, 0.0)
    settings = {"pose": pose, "channels": ["rgb", "depth", "ids", "links"]}
    ours, theirs = (sim.add_sensor("camera", name=name, renderer=name, **settings).read() for name in ("auto", "tiny"))
    seen = int((theirs.ids == robot.object_id).sum())
    assert seen > 40
    assert (ours.ids != theirs.ids).sum() < 5 + 0.02 * seen
    assert (ours.links != theirs.links).sum() < 5 + 0.04 * seen
    assert len(np.unique(ours.links[ours.ids >= 0])) == len(np.unique(theirs.links[theirs.ids >= 0]))
    both_mask = (ours.links == theirs.links) & np.isfinite(theirs.depth) & np.isfinite(ours.depth)
    errors = np.abs(ours.depth[both_mask] - theirs.depth[both_mask]) / theirs.depth[both_mask]
    assert np.quantile(errors, 0.99) < 0.01
    robot_mask = (ours.ids == theirs.ids) & (ours.ids >= 0)
    colors = [reading.rgb[robot_mask].mean(0) for reading in (ours, theirs)]
    np.testing.assert_allclose(*colors, atol=45.0)


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("content", ["v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n", "v 0 0\nf 1 2 3\n"])
def test_a_broken_mesh_is_not_seen_and_hides_nothing(
    sim: fs.MultiRobotSimulationCore, content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad.obj").write_text(content)
    geometry = '<geometry><mesh filename="bad.obj"/></geometry>'
    (tmp_path / "bad.urdf").write_text(f'<robot name="r"><link name="a"><visual>{geometry}</visual></link></robot>')
    broken = sim.spawn(fs.AgentSpawnParams(urdf_path=str(tmp_path / "bad.urdf"), initial_pose=fs.Pose((2.0, 0.0, 0.5))))
    crate = fs.ShapeParams("box", half_extents=(0.3, 0.3, 0.3))
    sound = sim.spawn(fs.SimObjectSpawnParams(crate, crate, fs.Pose((3.0, 0.0, 0.5))))
    camera = sim.add_sensor("camera", pose=[0.0, 0.0, 0.5], channels=["ids"], renderer="opengl")
    for _ in range(2):
        seen = camera.read().ids
        assert sound.object_id in seen and broken.object_id not in seen
    assert [record.levelname for record in caplog.records if "bad.obj" in record.message] == ["WARNING"]


# ---- Cameras that wait for their turn, where a step may take only so many pictures -----------------------------------


MakeSim_turns = Callable[..., fs.MultiRobotSimulationCore]
TINY = {"width": 8, "height": 6, "channels": ["depth"]}


def watch(sim: fs.MultiRobotSimulationCore, name: str, rate: float | None, log: list[tuple[int, str]]) -> Any:
    camera = sim.add_sensor("camera", name=name, rate=rate, **TINY)
    camera.on_reading(lambda sensor, reading: log.append((reading.tick, sensor.name)))
    return camera


@pytest.mark.usefixtures("pictures")
def test_no_step_takes_more_pictures_than_it_may_and_all_get_theirs(make_sim: MakeSim_turns) -> None:
    """Twelve pictures a step are asked for, four are taken: each camera gets its share of them."""
    sim, log = make_sim(camera_budget=4), []
    for number in range(12):
        watch(sim, f"camera{number}", None, log)
    for _ in range(30):
        sim.step_once()
    assert set(Counter(tick for tick, _ in log).values()) == {4}
    assert set(Counter(name for _, name in log).values()) == {10}


@pytest.mark.usefixtures("pictures")
def test_rates_are_kept_while_the_budget_allows(make_sim: MakeSim_turns) -> None:
    sim, log = make_sim(camera_budget=3), []
    for name, rate in (("fast", None), ("slow", 2.0), ("other", 5.0)):
        watch(sim, name, rate, log)
    for _ in range(20):
        sim.step_once()
    assert Counter(name for _, name in log) == {"fast": 20, "slow": 4, "other": 10}


@pytest.mark.usefixtures("pictures")
def test_a_slow_camera_is_not_kept_waiting_by_fast_ones(make_sim: MakeSim_turns) -> None:
    sim, log = make_sim(camera_budget=1), []
    for name, rate in (("a", None), ("b", None), ("slow", 1.0)):
        watch(sim, name, rate, log)
    for _ in range(40):
        sim.step_once()
    # It is due at the end of steps 10, 20 and 30, and has two others before it at most.
    assert [tick for tick, name in log if name == "slow"] == pytest.approx([10, 20, 30], abs=2.1)


@pytest.mark.usefixtures("pictures")
def test_who_left_has_no_turn(make_sim: MakeSim_turns) -> None:
    sim, log = make_sim(camera_budget=1), []
    first, second, third = (watch(sim, name, None, log) for name in "abc")
    sim.step_once()
    second.remove()
    sim.step_once()
    assert [name for _, name in log] == ["a", "c"]
    third.unsubscribe()
    for _ in range(3):
        sim.step_once()
    assert [name for _, name in log] == ["a", "c", "a", "a", "a"]
    assert first.latest.tick == 5


def test_turns_go_on_where_a_checkpoint_left_them(make_sim: MakeSim_turns) -> None:
    sim, log = make_sim(camera_budget=2), []
    for name in "abcde":
        watch(sim, name, None, log)
    for _ in range(3):
        sim.step_once()
    saved = sim.save_state()
    log.clear()
    for _ in range(4):
        sim.step_once()
    before = list(log)
    sim.restore_state(saved)
    log.clear()
    for _ in range(4):
        sim.step_once()
    assert log == before


def test_asking_is_not_waiting(make_sim: MakeSim_turns) -> None:
    sim = make_sim(camera_budget=1)
    cameras = [sim.add_sensor("camera", name=name, **TINY) for name in "abc"]
    assert all(reading.depth is not None for reading in sim.sensors.read(cameras))


def test_a_budget_of_nothing_is_refused(make_sim: MakeSim_turns) -> None:
    with pytest.raises(fs.ConfigError, match="camera_budget"):
        make_sim(camera_budget=0)


# ---- Pictures of scans: the right way up, and in the right colors ----------------------------------------------------


def test_what_is_seen_is_tinted_up_to_where_the_rays_end(sim: Sim) -> None:
    wall = fs.ShapeParams("box", half_extents=(0.25, 2.0, 0.5))
    sim.spawn(fs.SimObjectSpawnParams(None, wall, fs.Pose.from_xyz(3.25, 2.0, 0.5), collision_mode="static"))
    # A robot that turns its lidar to the upper half of the picture.
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.3, np.pi / 2], angle_min=-np.pi / 2, angle_max=np.pi / 2, range_max=4)
    grid = fs.occupancy_grid(sim.world, z=0.3, bounds=(-5, -5, 5, 5), resolution=0.1)
    picture = draw_scans(grid, [lidar], width=200)
    assert (picture.shape, picture.dtype) == ((200, 200, 3), np.uint8)

    def color(x: float, y: float) -> list[int]:
        return [int(part) for part in picture[round((5 - y) * 20), round((x + 5) * 20)]]

    free, seen, hidden, wall_color = color(0, -2), color(0, 2), color(4.5, 2.0), color(3.3, 3.9)
    assert free == hidden
    assert seen[0] < free[0]
    assert seen[2] > seen[0]
    assert max(wall_color) < 100
    assert color(0.0, 4.5) == free
    # The end of a ray is on the wall.
    assert color(3.0, 1.0)[2] > 150
    assert color(3.0, 1.0)[0] < 120


def test_a_lidar_that_was_read_is_drawn_as_it_was(sim: Sim) -> None:
    lidar = sim.add_sensor("lidar", pose=[0, 0, 0.3])
    grid = fs.occupancy_grid(sim.world)
    first = draw_scans(grid, [lidar], width=64)
    ball = fs.ShapeParams("sphere", radius=0.5)
    sim.spawn(fs.SimObjectSpawnParams(None, ball, fs.Pose.from_xyz(2.0, 0.0, 0.3)))
    assert (draw_scans(grid, [lidar], width=64) == first).all()
    lidar.read()
    assert (draw_scans(grid, [lidar], width=64) != first).any()


def test_other_sensors_are_refused(sim: Sim) -> None:
    with pytest.raises(fs.InvalidValueError, match="scans are drawn of planar lidars"):
        draw_scans(fs.occupancy_grid(sim.world), [sim.add_sensor("imu")])
