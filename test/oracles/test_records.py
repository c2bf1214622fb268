"""What readers of others find in a recording, against the world at the time of each sample."""

from __future__ import annotations

import fnmatch
import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of
from oracle_rows import ROWS, holds
from PIL import Image

import fleet_sim as fs

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from record_tape import DT, SCENARIO, STEPS, Tape, make_tape, messages_in
from rosbags.typesys import Stores, get_types_from_msg, get_typestore


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    return make_tape(tmp_path_factory.mktemp("records") / "run.mcap")


def seconds(stamp: Any) -> float:
    """Return a time of ROS in s."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def vector(value: Any) -> tuple[float, ...]:
    """Return the components of a vector or a quaternion."""
    return tuple(getattr(value, axis) for axis in "xyzw" if hasattr(value, axis))


def product(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    """Return the product of two quaternions (x, y, z, w)."""
    (ax, ay, az, aw), (bx, by, bz, bw) = a, b
    cross = np.cross((ax, ay, az), (bx, by, bz))
    return (*(aw * np.array((bx, by, bz)) + bw * np.array((ax, ay, az)) + cross), aw * bw - ax * bx - ay * by - az * bz)


def turned(turn: tuple[float, ...], point: tuple[float, ...]) -> np.ndarray:
    """Return a point turned by a quaternion."""
    x, y, z, w = turn
    return np.array(product(product(turn, (*point, 0.0)), (-x, -y, -z, w))[:3])


@holds(
    "record:rosgraph_msgs/Clock.*",
    "record:fleet_sim_msgs/FleetState.*",
    fault="apps/record/topics.py: twists are turned the other way; the distance left is to the first waypoint",
)
def test_states_are_those_of_the_robots(tape: Tape) -> None:
    assert [seconds(clock.clock) for _, clock in tape.found["/clock"]] == pytest.approx(np.arange(STEPS + 1) * DT)
    flags = set()
    for index, ((logged, message), now) in enumerate(zip(tape.found["/fleet/states"], tape.world, strict=True)):
        # Plans are looked at twice a second.
        looked = tape.world[index - index % 10]["robots"]
        assert logged == pytest.approx(now["time"]) and seconds(message.header.stamp) == pytest.approx(now["time"])
        assert [robot.name for robot in message.robots] == list(now["robots"])
        for told in message.robots:
            known, pose = now["robots"][told.name], now["poses"][told.name]
            assert vector(told.pose.position) == pytest.approx(tuple(pose.position))
            assert vector(told.pose.orientation) == pytest.approx(tuple(pose.orientation))
            x, y, z, w = pose.orientation
            own = turned((-x, -y, -z, w), known["linear"])
            assert vector(told.twist.linear) == pytest.approx(tuple(own), abs=2e-6)
            assert vector(told.twist.angular) == pytest.approx((0.0, 0.0, known["turning"]), abs=2e-6)
            path = looked[told.name]["path"]
            left = 0.0 if path is None else math.dist(path[-1].position, pose.position)
            assert told.distance_left == pytest.approx(left, abs=1e-3)
            assert ("idle", "velocity", "pose")[told.mode] == known["mode"]
            for name in ("moving", "busy", "blocked", "carrying"):
                assert getattr(told, name) is known[name], (told.name, name, now["time"])
                flags.add((name, known[name]))
    assert {("moving", True), ("blocked", True), ("carrying", True), ("carrying", False)} <= flags


@holds("record:tf2_msgs/TFMessage.*", fault="apps/record/topics.py: rotations are mirrored")
def test_frames_are_where_bodies_and_links_are(tape: Tape) -> None:
    frames: dict[str, tuple[str, tuple[float, ...], tuple[float, ...]]] = {}
    for _, message in tape.found["/tf_static"]:
        frames |= {t.child_frame_id: placed(t) for t in message.transforms}
    by_time: dict[int, list[Any]] = {}
    for logged, message in tape.found["/tf"]:
        for transform in message.transforms:
            assert seconds(transform.header.stamp) == pytest.approx(logged)
            by_time.setdefault(round(logged / DT), []).append(transform)
    for index, now in enumerate(tape.world):
        frames |= {t.child_frame_id: placed(t) for t in by_time[index]}
        for name, pose in now["poses"].items():
            frame = f"{name}/base_link" if name in now["robots"] else name
            same(resolved(frames, frame), pose)
        for name, pose in now["links"].items():
            same(resolved(frames, f"arm/{name}"), pose)


def placed(transform: Any) -> tuple[str, tuple[float, ...], tuple[float, ...]]:
    """Return the parent of a frame, and where it is in that."""
    own = transform.transform
    return transform.header.frame_id, vector(own.translation), vector(own.rotation)


def resolved(frames: dict[str, Any], frame: str) -> tuple[np.ndarray, tuple[float, ...]]:
    """Return where a frame is on the map."""
    place, turn = np.zeros(3), (0.0, 0.0, 0.0, 1.0)
    while frame != "map":
        frame, offset, rotation = frames[frame]
        place, turn = turned(rotation, place) + offset, product(rotation, turn)
    return place, turn


def same(found: tuple[np.ndarray, tuple[float, ...]], pose: fs.Pose) -> None:
    """Compare a place with a pose; a quaternion and its negative are one."""
    assert found[0] == pytest.approx(np.array(pose.position), abs=1e-6)
    assert abs(np.dot(found[1], pose.orientation)) == pytest.approx(1.0, abs=1e-9)


@holds(
    "record:sensor_msgs/JointState.*",
    fault="apps/record/topics.py: velocities are written as positions; joints of two robots are exchanged",
)
def test_joints_are_those_of_the_robots(tape: Tape) -> None:
    speeds = set()
    for topic, robot, prefix in (("/arm/joint_states", "arm", ""), ("/fleet/joints", "wall-e", "wall-e/")):
        for (_, message), now in zip(tape.found[topic], tape.world, strict=True):
            assert seconds(message.header.stamp) == pytest.approx(now["time"])
            known = now["joints"][robot]
            names = [name.removeprefix(prefix) for name in message.name]
            assert {"joint_1", "joint_6"} < set(names) < set(known)
            assert list(message.position) == pytest.approx([known[name][0] for name in names])
            assert list(message.velocity) == pytest.approx([known[name][1] for name in names])
            # Without motors there are no efforts, or those of robots that share a topic are 0.
            assert not any(message.effort)
            speeds.update(round(joint[1], 3) for joint in known.values())
    assert len(speeds) > 3


@holds("record:nav_msgs/Path.*", fault="apps/record/topics.py: a path begins at its first waypoint, not at the robot")
def test_plans_are_the_paths_of_the_robots(tape: Tape) -> None:
    plans = tape.found["/cart/plan"]
    assert len(plans) >= 2
    for logged, message in plans:
        now = tape.world[round(logged / DT)]
        assert seconds(message.header.stamp) == pytest.approx(logged)
        path, here = now["robots"]["cart"]["path"], now["poses"]["cart"]
        expected = [] if path is None else [here, *path]
        assert len(message.poses) == len(expected)
        for told, pose in zip(message.poses, expected, strict=True):
            assert vector(told.pose.position) == pytest.approx(tuple(pose.position))
            assert vector(told.pose.orientation) == pytest.approx(tuple(pose.orientation))
    assert not plans[-1][1].poses and plans[0][1].poses


@holds("record:fleet_sim_msgs/Collisions.*", fault="apps/record/topics.py: ended has what began")
def test_collisions_began_and_ended_as_told(tape: Tape) -> None:
    active: set[frozenset[str]] = set()
    told = []
    for logged, message in tape.found["/fleet/collisions"]:
        assert seconds(message.header.stamp) == pytest.approx(logged)
        for kind in ("started", "ended"):
            told += [(kind, frozenset((pair.first, pair.second)), logged) for pair in getattr(message, kind)]
        active |= {frozenset((pair.first, pair.second)) for pair in message.started}
        active -= {frozenset((pair.first, pair.second)) for pair in message.ended}
        assert {frozenset((pair.first, pair.second)) for pair in message.active} == active
    known = [(kind, frozenset(pair)) for kind, pair, _ in tape.pairs]
    assert [event[:2] for event in told] == known and {"started", "ended"} == {kind for kind, _ in known}
    for event, (_, _, time) in zip(told, tape.pairs, strict=True):
        assert event[2] == pytest.approx(time, abs=DT + 1e-9)


@holds(
    "record:sensor_msgs/LaserScan.*",
    "record:sensor_msgs/Imu.*",
    "record:nav_msgs/Odometry.*",
    fault="apps/record/readings.py: covariances are without the rate",
)
def test_readings_are_those_of_the_sensors(tape: Tape) -> None:
    for topic, rate in (("scan", 10.0), ("imu", 20.0), ("odometry", 20.0)):
        times = [logged for logged, _ in tape.found[f"/cart/{topic}"]]
        assert times == pytest.approx(np.arange(1, len(times) + 1) / rate) and len(times) == STEPS * DT * rate
        for logged, message in tape.found[f"/cart/{topic}"]:
            assert seconds(message.header.stamp) == pytest.approx(logged)

    def known(topic: str) -> Iterator[tuple[Any, Any]]:
        for logged, message in tape.found[f"/cart/{topic}"]:
            yield message, tape.readings[topic][round(logged / DT) - 1]

    for scan, true in known("scan"):
        assert np.array(scan.ranges, np.float32) == pytest.approx(np.asarray(true.ranges, np.float32), nan_ok=True)
        whole = [scan.angle_min, scan.angle_max, scan.angle_increment, scan.range_max, scan.scan_time]
        # All around in 24 rays, ten times a second; the last ray is not the first one again.
        assert whole == pytest.approx([-math.pi, math.pi - math.pi / 12, math.pi / 12, 5.5, 0.1], rel=1e-6)
        assert scan.time_increment == 0.0 and not list(scan.intensities)
        assert scan.range_min == pytest.approx(0.13)
    for imu, true in known("imu"):
        assert vector(imu.angular_velocity) == pytest.approx(tuple(true.angular_velocity))
        assert vector(imu.linear_acceleration) == pytest.approx(tuple(true.linear_acceleration))
        # Densities of noise to variances at 20 Hz; the orientation is not measured, or without an error.
        assert np.diag(np.reshape(imu.angular_velocity_covariance, (3, 3))) == pytest.approx([0.01**2 / DT] * 3)
        assert np.diag(np.reshape(imu.linear_acceleration_covariance, (3, 3))) == pytest.approx([0.02**2 / DT] * 3)
    ended = tape.world[-1]["poses"]["cart"]
    for told, true in known("odometry"):
        assert vector(told.twist.twist.linear) == pytest.approx(tuple(true.linear_velocity))
        assert vector(told.twist.twist.angular) == pytest.approx(tuple(true.angular_velocity))
        assert not any(told.pose.covariance) and not any(told.twist.covariance)
        # It drifts from the true pose by its noise only.
        pose = tape.world[round(seconds(told.header.stamp) / DT)]["poses"]["cart"]
        assert vector(told.pose.pose.position) == pytest.approx(tuple(pose.position), abs=0.2)
    assert math.dist(ended.position, tape.world[0]["poses"]["cart"].position) > 1.0


@holds("record:visualization_msgs/MarkerArray.*", fault="apps/record/topics.py: width and depth are exchanged")
def test_markers_are_the_shapes_and_colors_of_bodies(tape: Tape) -> None:
    seen = {}
    for _, message in tape.found["/fleet/markers"]:
        clear, *markers = message.markers
        assert clear.action == 3 and all(marker.action == 0 and marker.frame_locked for marker in markers)
        assert len({(marker.ns, marker.id) for marker in markers}) == len(markers)
        seen = {marker.header.frame_id: marker for marker in markers}
    now = tape.world[-1]
    for entry in (*SCENARIO["robots"][:2], *SCENARIO["objects"]):
        name, half = entry["name"], entry["shape"]["half_extents"]
        marker = seen[f"{name}/base_link" if name in now["robots"] else name]
        # A box, about the origin of its frame, that never goes by itself.
        assert marker.type == 1 and vector(marker.pose.position) == (0.0, 0.0, 0.0)
        assert vector(marker.pose.orientation) == (0.0, 0.0, 0.0, 1.0)
        assert vector(marker.scale) == pytest.approx(tuple(2.0 * side for side in half))
        assert [marker.color.r, marker.color.g, marker.color.b, marker.color.a] == pytest.approx(
            now["colors"][name], abs=1e-6
        )
        assert (marker.lifetime.sec, marker.lifetime.nanosec, marker.header.stamp.sec) == (0, 0, 0)
        assert not marker.points and not marker.colors


@holds(
    "record:sensor_msgs/CameraInfo.*",
    "record:sensor_msgs/CompressedImage.*",
    fault="apps/record/readings.py: the height of a camera is its width",
)
def test_cameras_are_recorded_with_their_lens_and_what_they_saw(pictures: None, tmp_path: Path) -> None:
    eye = {
        "type": "camera",
        "name": "eye",
        "width": 32,
        "height": 24,
        "rate": 5.0,
        "intrinsics": [21.0, 19.0, 15.0, 11.0],
    }
    entry = SCENARIO["robots"][0] | {"sensors": [eye | {"pose": [0.3, 0.1, 0.1, 0.2]}]}
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO | {"robots": [entry]}) as sim:
        sensor, seen = sim.sensors.of(sim.get_object("cart").row)[0], {}
        with sim.record(tmp_path / "run.mcap", rate=None, sensors=("camera",)):
            sim.get_object("cart").set_velocity(0.2, 0.1, wz=0.3)
            for _ in range(9):
                sim.step_once()
                seen[round(sim.sim_time, 3)] = sensor.latest and sensor.latest.rgb
    found, _ = messages_in(tmp_path / "run.mcap")
    pairs = list(zip(found["/cart/eye/camera_info"], found["/cart/eye/image_raw/compressed"], strict=True))
    frames = {transform.child_frame_id for _, message in found["/tf_static"] for transform in message.transforms}
    for (logged, info), (_, picture) in pairs:
        assert seconds(info.header.stamp) == seconds(picture.header.stamp) == pytest.approx(logged)
        assert info.header.frame_id == picture.header.frame_id in frames
        assert (info.height, info.width, info.distortion_model, list(info.d)) == (24, 32, "plumb_bob", [0.0] * 5)
        assert list(info.k) == [21.0, 0.0, 15.0, 0.0, 19.0, 11.0, 0.0, 0.0, 1.0]
        assert list(info.p) == [21.0, 0.0, 15.0, 0.0, 0.0, 19.0, 11.0, 0.0, 0.0, 0.0, 1.0, 0.0]
        assert list(info.r) == [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        shown = np.array(Image.open(io.BytesIO(bytes(picture.data))))
        assert picture.format == "png" and np.array_equal(shown, seen[round(logged, 3)])
    assert len(pairs) >= 2 and np.ptp(shown) > 50


@holds("record:fleet_sim_msgs/OrderStatus.*", fault="apps/record/topics.py: messages have no stamp")
def test_orders_are_as_they_were_when_they_changed(tmp_path: Path) -> None:
    entries = [
        {"id": "a", "pick": "shelf_a", "drop": "dock", "due": 21.5, "release": 0.35},
        {"id": "b", "pick": "shelf_b", "drop": "gate"},
    ]
    path, known = tmp_path / "run.mcap", []
    with depot(tmp_path, {"list": entries}, timestep=DT) as sim:
        orders = orders_of(sim)
        known.append([orders.status(name) for name in ("a", "b")])
        with sim.record(path, rate=None):
            while orders.delivered < 2 and sim.sim_time < 120.0:
                sim.step_once()
                known.append([orders.status(name) for name in ("a", "b")])
    found, _ = messages_in(path)
    states = set()
    for logged, told in found["/fleet/orders"]:
        true = known[round(logged / DT)]["ab".index(told.id)]
        assert seconds(told.stamp) == pytest.approx(logged)
        assert (told.state, told.robot, list(told.stops)) == (
            list(type(true.state)).index(true.state),
            true.robot,
            list(true.stops),
        )
        for name in ("released", "due", "assigned", "picked", "ended"):
            time = getattr(true, name)
            assert getattr(told, name) == pytest.approx(math.nan if time is None else time, nan_ok=True), name
        states.add((told.id, true.state.value))
    changed = ("waiting", "driving", "picking", "carrying", "dropping", "done")
    assert states >= {(name, state) for name in "ab" for state in changed[1:]} and ("a", "waiting") in states


def numbers(store: Any, kind: str, path: str) -> Iterator[str]:
    """Yield the paths of the numbers in messages of a type."""
    for name, (node, content) in store.fielddefs[kind][1]:
        while node in (3, 4):
            node, content = content[0]
        if node == 2:
            yield from numbers(store, content, f"{path}.{name}")
        elif content[0] not in ("string", "bool"):
            yield f"{path}.{name}"


CONSTANTS = {"record:std_msgs/String.*": "JSON, without numbers of its own: test/apps/record/test_recordings.py"}


def test_every_number_is_held(tape: Tape) -> None:
    held = [*(name for row in ROWS if row.test.startswith(__name__) for name in row.fields), *CONSTANTS]
    missing = set()
    for kind, text in tape.schemas.values():
        store = get_typestore(Stores.EMPTY)
        store.register(get_types_from_msg(text, kind))
        name = kind.replace("/msg/", "/")
        fields = numbers(store, kind, f"record:{name}")
        missing |= {field for field in fields if not any(fnmatch.fnmatch(field, known) for known in held)}
    assert missing == set() and len(tape.schemas) > 10
