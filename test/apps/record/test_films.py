"""Films: pictures of a run and of its recording, as others read them."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.record.film import PlaybackWorld, aim_of
from fleet_sim.apps.record.recording import Recording, read_roster

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
pytest.importorskip("mcap")

SCENARIO = """
simulation: {timestep: 0.1, target_rtf: 0}
robots:
  - {name: red, pose: [0, 0, 0.25], shape: {shape_type: box, half_extents: [0.5, 0.25, 0.25], rgba_color: [1, 0, 0, 1]}}
  - {name: arm, urdf_path: arm6, pose: [0, 4, 0], use_fixed_base: true}
objects:
  - {name: far, pose: [8, 0, 0.25], shape: {shape_type: box, half_extents: [0.25, 0.25, 0.25]}}
"""
SIZE = (160, 120)


def pictures(path: Path) -> np.ndarray:
    """All pictures of a film (N, height, width, 3)."""
    decode = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-i", str(path), "-fps_mode", "passthrough"]
    done = subprocess.run([*decode, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, SIZE[1], SIZE[0], 3)


def red_place(picture: np.ndarray) -> tuple[float, float]:
    """Where the red robot is in a picture: column and row, each from 0 to 1."""
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    rows, columns = np.nonzero((red > 100) & (red > 2 * green) & (red > 2 * blue))
    assert len(rows) > 10
    return float(columns.mean()) / SIZE[0], float(rows.mean()) / SIZE[1]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    (folder / "run.yaml").write_text(SCENARIO, encoding="utf-8")
    with fs.MultiRobotSimulationCore.from_yaml(folder / "run.yaml") as sim, sim.record(folder / "run.mcap", rate=None):
        sim.get_object("red").set_goal_pose(fs.Pose((4.0, 0.0, 0.25)))
        sim.run_simulation(3.0)
        sim.spawn(fs.SimObjectSpawnParams(name="late", initial_pose=fs.Pose((12.0, 7.0, 0.5))))
        sim.run_simulation(1.0)
    return folder / "run.mcap"


def make(source: Path, film: Path, *options: str) -> np.ndarray:
    assert main(["film", str(source), "--out", str(film), "--size", f"{SIZE[0]}x{SIZE[1]}", *options]) == 0
    assert [path.name for path in film.parent.iterdir() if ".part" in path.name] == []
    return pictures(film)


def test_a_film_of_a_recording_shows_what_happened(recorded: Path, opengl: None, tmp_path: Path) -> None:
    top = make(recorded, tmp_path / "top.mp4", "--camera", "top", "--fps", "5")
    assert len(top) == 20
    places = [red_place(picture) for picture in top]
    # Seen from above, x points to the right; the robot drives along it, and no picture is far from its neighbours. The
    # camera moves once, when something comes that it does not frame.
    columns, rows = np.array(places).T
    assert np.ptp(rows) < 0.06 and np.count_nonzero(np.abs(np.diff(rows)) > 0.01) <= 1
    assert columns[-1] - columns[0] > 0.15
    assert np.abs(np.diff(columns)).max() < 0.2
    followed = make(recorded, tmp_path / "followed.mp4", "--camera", "follow:red", "--fps", "5")
    for picture in followed:
        assert red_place(picture) == pytest.approx((0.5, 0.5), abs=0.08)


def test_a_gif_of_a_scenario(recorded: Path, opengl: None, tmp_path: Path) -> None:
    gif = make(recorded.with_name("run.yaml"), tmp_path / "a.gif", "--camera", "orbit", "--seconds", "2", "--fps", "5")
    assert len(gif) == 10
    first, last = red_place(gif[0]), red_place(gif[-1])
    assert np.hypot(first[0] - last[0], first[1] - last[1]) > 0.01


def test_stations_zones_and_paths_are_seen(opengl: None, tmp_path: Path) -> None:
    hall = "site: hall\ncell: 1.0\nrows: |\n" + 10 * f"  {20 * '.'}\n"
    hall += "stations: [{name: out, kind: drop, at: [18.5, 0.5]}]\n"
    hall += "zones: [{name: wet, kind: no_go, corners: [[2, 8], [4, 8], [4, 9]]}]\n"
    (tmp_path / "hall.yaml").write_text(hall)
    (tmp_path / "run.yaml").write_text("site: hall.yaml\n" + SCENARIO)
    with fs.MultiRobotSimulationCore.from_yaml(tmp_path / "run.yaml") as sim, sim.record(tmp_path / "run.mcap"):
        sim.get_object("red").set_goal_pose(fs.Pose((6.0, 0.0, 0.25)))
        sim.run_simulation(1.0)
    # Paths are looked at twice a second.
    options = ("--camera", "top", "--start", "0.6", "--seconds", "0.3", "--fps", "4")
    without = make(tmp_path / "run.mcap", tmp_path / "without.mp4", *options)[-1]
    shown = make(tmp_path / "run.mcap", tmp_path / "with.mp4", *options, "--paths")[-1]
    # The station and the zone are farther out than all bodies, and in the picture. Red is the robot, too.
    for color, least in ((0, 20), (2, 20)):
        others = np.delete(without, color, axis=2).max(axis=2).astype(int)
        assert np.count_nonzero(without[..., color] > others + 60) > least, color
    assert np.count_nonzero(np.abs(shown.astype(int) - without).max(axis=2) > 40) > 10


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--out", "film.avi"], "use"),
        (["--out", "film.mp4", "--camera", "follow:nobody"], "nobody"),
        (["--out", "film.mp4", "--camera", "left"], "follow:<robot>"),
        (["--out", "film.mp4", "--speed", "0"], "--speed"),
        (["--out", "film.mp4", "--speed", "1e-5", "--fps", "999"], "the film would have"),
        (["--out", "film.mp4", "--fps", "0"], "fps: expected a number from 0.01 to 1000, got 0"),
        (["--out", "film.gif", "--fps", "60"], "fps: expected a number from 0.01 to 50 for a GIF, got 60"),
        (["--out", "film.mp4", "--seconds", "1e308"], "--seconds: expected a number above 0 and below 1e+06"),
        (["--out", "film.mp4", "--start", "-1"], "--start: expected a number from 0"),
        (["--out", "film.mp4", "--start", "99"], "4 s long"),
        (["--out", "film.mp4", "--start", "1", "--seconds", "3.1"], "4 s long, 3 s of it from --start on, got 3.1"),
        (["--out", ""], "no file has such a name"),
        (["--out", "missing/film.mp4"], "there is no folder"),
    ],
)
def test_what_cannot_be_filmed_is_one_error(
    recorded: Path,
    tmp_path: Path,
    options: list[str],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["film", str(recorded), *options, "--size", "64x64"]) == 1
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_recording_is_framed_as_its_run_was(recorded: Path) -> None:
    with (
        Recording(recorded) as recording,
        PlaybackWorld(recording) as stage,
        fs.MultiRobotSimulationCore.from_yaml(recorded.with_name("run.yaml")) as sim,
    ):
        shown = stage.show(0.0)
        for all_around in (False, True):
            wanted = sim.view.framed(*SIZE, all_around=all_around)
            assert shown.view.framed(*SIZE, all_around=all_around).distance == pytest.approx(wanted.distance, rel=1e-3)
        # What a camera that follows it keeps away from.
        for name in ("red", "far"):
            boxes = [each.get_aabbs()[each.get_object(name).object_id] for each in (sim, shown)]
            np.testing.assert_allclose(boxes[0], boxes[1], atol=1e-6)


WEDGE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 0.7\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
BOT = """<robot name="bot">
<link name="base"><visual><geometry><mesh filename="wedge.obj" scale="0.4 0.4 0.4"/></geometry></visual>
<collision><geometry><box size="0.4 0.3 0.2"/></geometry></collision></link>
<link name="arm"><visual><geometry><box size="0.1 0.1 0.5"/></geometry></visual></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0.1 0 0.3"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


def test_a_recording_brings_models_and_meshes_of_ones_own_along(tmp_path: Path) -> None:
    """It is shown where these files are not: on another machine, or after they were deleted."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "wedge.obj").write_text(WEDGE, encoding="utf-8")
    (own / "bot.urdf").write_text(BOT, encoding="utf-8")
    wedge = fs.ShapeParams("mesh", mesh_path=str(own / "wedge.obj"))
    recorded, names = tmp_path / "run.mcap", ("bot", "large", "wedge")
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, target_rtf=0)) as sim:
        sim.spawn(fs.AgentSpawnParams(urdf_path=str(own / "bot.urdf"), name="bot"))
        with sim.record(recorded):
            sim.run_simulation(0.2)
            pose = fs.Pose((3.0, 0.0, 0.0))
            sim.spawn(
                fs.AgentSpawnParams(
                    urdf_path=str(own / "bot.urdf"), name="large", initial_pose=pose, global_scaling=2.0
                )
            )
            sim.spawn(fs.SimObjectSpawnParams(wedge, wedge, fs.Pose((0.0, 4.0, 0.0)), name="wedge"))
            sim.run_simulation(0.2)
        boxes = [sim.get_aabbs()[sim.get_object(name).object_id] for name in names]
    shutil.rmtree(own)
    with Recording(recorded) as recording, PlaybackWorld(recording) as stage:
        shown = stage.show(0.4)
        assert recording.notes == ()
        assert shown.get_object("bot").joint_names == ("lift",)
        for name, box in zip(names, boxes, strict=True):
            np.testing.assert_allclose(shown.get_aabbs()[shown.get_object(name).object_id], box, atol=1e-9)
        # What is seen of it: the arm stands above the base.
        assert shown.queries.ray_cast((0.1, 0.0, 5.0), [(0.1, 0.0, 0.0)]).points[0, 2] == pytest.approx(0.1)
        model = recording.snapshot_at(0.4).bodies.models[0]
        assert model is not None
        assert sorted(part.geometry.mesh_path != "" for part in model.visuals) == [False, True]


def test_what_a_recording_brings_along_is_not_expanded(tmp_path: Path) -> None:
    """Expressions of xacro read files of this machine; a recording may be of somebody else."""
    (tmp_path / "private.yaml").write_text("canary: 1", encoding="utf-8")
    evil = f"""<robot name="b" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:property name="x"
        value="${{xacro.load_yaml('{tmp_path}/private.yaml')}}"/><link name="base_${{x}}"/></robot>"""
    entity = {"name": "a", "id": 0, "robot": True, "half_extents": [1, 1, 1], "centre": [0, 0, 0]}
    entities = [entity | {"motors": False, "joints": [], "model": 0}]
    text = json.dumps({"shapes": [], "models": ["/away/bot.urdf"], "entities": entities})
    roster = read_roster(text, files={"model:/away/bot.urdf": evil.encode()})
    assert roster.bodies.models == (None,)
    assert "not in the recording" in roster.notes[0]
    shape = f'<geometry><mesh filename="{tmp_path}/a.obj"/></geometry>'
    mesh = f'<robot name="b"><link name="base"><visual>{shape}</visual></link></robot>'
    (tmp_path / "a.obj").write_text(WEDGE, encoding="utf-8")
    assert read_roster(text, files={"model:/away/bot.urdf": mesh.encode()}).bodies.models == (None,)


def test_a_camera_that_goes_around_sees_everything_from_each_side() -> None:
    """Of a hall that is much longer than wide."""
    aim = aim_of("orbit", 640, 360)
    corners = np.array([(x, y, z) for x in (-15.5, 15.5) for y in (-3.5, 3.5) for z in (0.0, 1.0)])
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        for name, x, y in (("a", -15.0, -3.0), ("b", 15.0, 3.0), ("c", -15.0, 3.0), ("d", 15.0, -3.0)):
            box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
            sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose.from_xyz(x, y, 0.5), name=name))
        filled = [_filled(aim(sim, float(second)), corners) for second in range(30)]
    assert 0.6 < max(filled) < 0.81


def test_a_camera_goes_back_when_somebody_leaves_its_picture() -> None:
    """And stands still otherwise."""
    aim, views = aim_of("auto", 640, 360), []
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        for name in ("a", "b"):
            box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5))
            sim.spawn(fs.SimObjectSpawnParams(box, box, fs.Pose.from_xyz(0.0, 2.0 * (name == "b"), 0.5), name=name))
        for step in range(100):
            sim.get_object("a").set_pose(fs.Pose.from_xyz(0.2 * step, 0.0, 0.5))
            views.append(aim(sim, 0.1 * step))
            place = np.array([(0.2 * step + x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
            assert _filled(views[-1], place) < 1.0
    assert 2 < sum(view is not before for view, before in zip(views[1:], views, strict=False)) < 20


def _filled(view: Any, corners: Any) -> float:
    """Return how far from the middle of a picture of 640 x 360 the farthest of `corners` is; 1: at its edge."""
    yaw, pitch = np.radians(view.yaw), np.radians(view.pitch)
    right = np.array((np.cos(yaw), np.sin(yaw), 0.0))
    ahead = np.array((-np.cos(pitch) * np.sin(yaw), np.cos(pitch) * np.cos(yaw), np.sin(pitch)))
    seen = corners - (np.array(view.target) - view.distance * ahead)
    slope = np.tan(np.radians(0.5 * view.fov))
    aside, above = seen @ right * 360 / 640, seen @ np.cross(right, ahead)
    return float(np.abs([aside, above] / (seen @ ahead) / slope).max())
