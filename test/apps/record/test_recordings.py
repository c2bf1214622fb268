"""Recordings: what is in them, by the readers of others and by ours, and what happens when writing fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from depot import depot, orders_of
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.apps.record.message_types import McapFile
from fleet_sim.apps.record.recorder import RING
from fleet_sim.apps.record.recording import Recording
from fleet_sim.apps.record.samples import SampleDecoder, SampleEncoder
from fleet_sim.base.files import data_file
from fleet_sim.facade.recording import InputRecorder, RecordedInputs
from fleet_sim.sensing.sensors.render.shot import FilmFile
from fleet_sim.warehouse.sites.drawing import floor_plans_of, plans_from_json, plans_to_json
from fleet_sim.world.snapshot import Snapshot

pytest.importorskip("mcap")
pytest.importorskip("rosbags")


SCENARIO = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0, "seed": 5},
    "robots": [
        {"name": "cart", "pose": [0, 0, 0.1], "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}},
        {"name": "arm", "urdf_path": "arm6", "pose": [5, 0, 0], "use_fixed_base": True},
        {"name": "wall-e", "urdf_path": "arm6", "pose": [-2, 0, 0.1], "use_fixed_base": True},
    ],
    "objects": [{"name": "parcel", "pose": [1, 0, 0.1], "shape": {"shape_type": "box", "half_extents": [0.1] * 3}}],
}
# Objects whose frames must not be those of the map and of a robot.
SCENARIO["objects"] += [{"name": name, "pose": [0, 7, 0.5]} for name in ("map", "cart/base_link")]  # type: ignore[operator]
STEPS = 60


def drive(sim: fs.MultiRobotSimulationCore) -> list[Snapshot]:
    """Let something happen of every kind that is recorded; return the state after each step."""
    cart, arm, parcel = sim.get_object("cart"), sim.get_object("arm"), sim.get_object("parcel")
    cart.set_path([fs.Pose((2.0, 0.0, 0.1)), fs.Pose((2.0, 2.0, 0.1))])
    for robot in (arm, sim.get_object("wall-e")):
        robot.set_all_joints_targets({"joint_1": 0.5, "joint_2": 0.3})
    seen = []
    for step in range(STEPS):
        if step == 20:
            cart.attach_object(parcel)
            parcel.set_color((1.0, 0.0, 0.0, 1.0))
        if step == 30:
            sim.spawn(fs.SimObjectSpawnParams(name="late", initial_pose=fs.Pose((9.0, 9.0, 1.0))))
        sim.step_once()
        seen.append(sim.snapshots.take())
    return seen


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Snapshot], str]]:
    path = tmp_path_factory.mktemp("record") / "run.mcap"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        with sim.record(path, rate=None) as recording:
            seen = drive(sim)
        assert recording.error is None
        yield path, seen, sim.state_hash()


def test_a_run_is_the_same_with_a_recording(recorded: tuple[Path, list[Snapshot], str]) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        drive(sim)
        assert sim.state_hash() == recorded[2]


def test_other_readers_find_ros_messages(recorded: tuple[Path, list[Snapshot], str]) -> None:
    path = recorded[0]
    assert not path.with_name("run.mcap.part").exists()
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        found: dict[str, list[object]] = {}
        for _, channel, _, message in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append(message)
        (scenario,) = (item for item in reader.iter_attachments() if item.name == "scenario.json")
    assert json.loads(scenario.data)["robots"] == SCENARIO["robots"]
    frames = {t.child_frame_id for message in found["/tf"] for t in message.transforms}  # type: ignore[attr-defined]
    assert {"cart/base_link", "parcel", "late", "object:map", "object:cart/base_link"} <= frames
    assert "map" not in frames
    assert any(frame.startswith("arm/") and frame != "arm/base_link" for frame in frames)
    assert found["/fleet/joints"][-1].name[0] == "wall-e/joint_1"  # type: ignore[attr-defined]
    assert {"/tf_static", "/fleet/markers", "/arm/joint_states", "/cart/plan", "/fleet/collisions"} <= set(found)


def test_rosbags_reads_types_and_quality_of_service(recorded: tuple[Path, list[Snapshot], str]) -> None:
    with Reader(recorded[0]) as reader:
        topics = {connection.topic: connection for connection in reader.connections}
        assert topics["/fleet/states"].msgtype == "fleet_sim_msgs/msg/FleetState"
        durability = {name: topics[name].ext.offered_qos_profiles[0].durability.name for name in ("/tf", "/tf_static")}  # type: ignore[union-attr]
        assert durability == {"/tf": "VOLATILE", "/tf_static": "TRANSIENT_LOCAL"}
        assert reader.message_count > 3 * STEPS


def test_our_reader_has_the_bodies_of_the_run(recorded: tuple[Path, list[Snapshot], str]) -> None:
    path, seen, _ = recorded
    with Recording(path) as recording:
        assert recording.scenario["simulation"]["seed"] == 5
        # Back and forth, as on a time axis.
        for step in (59, 25, 3):
            true, read = seen[step], recording.snapshot_at(seen[step].time)
            assert (read.names, read.object_ids.tolist()) == (true.names, true.object_ids.tolist())
            assert read.bodies.shapes == true.bodies.shapes
            assert [model and model.path for model in read.bodies.models] == [
                model and model.path for model in true.bodies.models
            ]
        assert not recording.notes


KILLED = """
import os, sys, time
import fleet_sim as fs
sim = fs.MultiRobotSimulationCore.from_dict({"simulation": {"gui": False, "timestep": 0.1, "target_rtf": 1.0},
    "robots": [{"name": "robot", "pose": [0, 0, 0.1], "controller": {"type": "random_walk"}}]})
sim.record(sys.argv[1])
began = time.monotonic()
def tell(sim, dt):
    if os.path.getsize(sys.argv[1] + ".part") > 40_000 or time.monotonic() - began > 2.5:
        print(sim.sim_time, flush=True)
        time.sleep(60)
sim.run_simulation(30, tell)
"""


def test_a_killed_run_leaves_all_that_it_recorded(tmp_path: Path) -> None:
    path = tmp_path / "killed.mcap"
    program = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reached = float(process.stdout.readline())
        os.kill(process.pid, signal.SIGKILL)
        # At its end when the process that writes has ended, too: it has the same output.
        assert process.stdout.read() == ""
    assert not path.exists()
    part = tmp_path / "killed.mcap.part"
    with Recording(part) as recording:
        assert not recording.whole
        # The process that writes had been given this much, and was not killed.
        assert recording.times[-1] > reached - 0.21
        recording.snapshot_at(reached)
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim, pytest.raises(fs.InvalidValueError, match="--repair"):
        sim.record(path)


def test_what_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO) as sim:
        with pytest.raises(fs.InvalidValueError, match="no folder"):
            sim.record(tmp_path / "missing" / "run.mcap")
        with pytest.raises(fs.InvalidValueError, match=r"use \.mcap"):
            sim.record(tmp_path / "run.bag")
        with pytest.raises(fs.InvalidValueError, match="unknown setting 'frequency'"):
            sim.record(tmp_path / "run.mcap", frequency=3)
        with pytest.raises(fs.ConfigError, match="rate"):
            sim.record(tmp_path / "run.mcap", rate=-1)
    assert not list(tmp_path.iterdir())
    with pytest.raises(fs.StateError, match="closed"):
        sim.record(tmp_path / "late.mcap")
    assert not list(tmp_path.iterdir())


def test_orders_are_recorded_and_loads_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "orders.mcap"
    command = ["run", "sites/warehouse.yaml", "--headless", "--duration", "8", "--rtf", "0", "--record", str(path)]
    assert main(command) == 0
    with Recording(path) as recording:
        (plan,) = recording.floor_plans
        assert {station.kind.value for station in plan.stations} == {"pick", "workstation", "charge"}
        orders = recording.index.topics["/fleet/orders"]
        assert orders.kind == "fleet_sim_msgs/msg/OrderStatus"
        assert orders.places
        first, last = recording.snapshot_at(0.0), recording.snapshot_at(8.0)
        assert set(last.names) - set(first.names)
        assert (last.carriers >= 0).any()


def test_open_orders_are_in_the_first_sample_and_new_ones_follow(tmp_path: Path) -> None:
    path = tmp_path / "waiting.mcap"
    later = {"pick": "shelf_a", "drop": "dock", "release": 1000.0}
    with depot(tmp_path, {"list": [{**later, "id": "known"}, {**later, "id": "gone"}]}) as sim:
        orders = orders_of(sim)
        sim.step_once()
        orders.cancel("gone")
        with sim.record(path):
            orders.submit(**later, id="new")
            for _ in range(10):
                sim.step_once()
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        told = [
            (decoded.decoded_message.id, decoded.message.log_time)
            for decoded in reader.iter_decoded_messages(["/fleet/orders"])
        ]
    assert [name for name, _ in told] == ["known", "new"]
    assert told[0][1] < told[1][1]


def test_replay_says_what_is_in_it_and_repairs_what_was_cut_off(
    recorded: tuple[Path, list[Snapshot], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded[0]
    assert main(["replay", str(path)]) == 0
    assert "3 robots and 4 objects at the end" in capsys.readouterr().out
    cut, whole = tmp_path / "cut.mcap.part", tmp_path / "cut.mcap"
    # In the middle of the index at the end, as if the run was killed while it wrote that.
    cut.write_bytes(path.read_bytes()[:-200])
    # Of a repair that was killed, which is in nobody's way.
    (tmp_path / ".cut.1.part.mcap").write_bytes(b"")
    assert main(["replay", str(cut), "--repair", str(whole)]) == 0
    assert len(list(tmp_path.iterdir())) == 3
    with Recording(whole) as repaired, Recording(path) as before:
        assert repaired.whole
        np.testing.assert_array_equal(repaired.times, before.times)
    with Reader(whole) as reader:
        assert reader.message_count == repaired.index.message_count


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--speed=nan", "--speed: expected 0, or a number from 1e-06 to 1e+06, got nan"),
        ("--start=nan", "s long, got nan"),
        ("--start=1e308", "s long, got 1e+308"),
    ],
)
def test_what_cannot_be_published_is_one_error(
    recorded: tuple[Path, list[Snapshot], str], option: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(recorded[0]), "--publish", option]) == 1
    assert reason in capsys.readouterr().err


def test_what_is_no_recording_is_refused(
    recorded: tuple[Path, list[Snapshot], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = tmp_path / "wrong.mcap"
    wrong.write_bytes(b"not MCAP")
    assert main(["replay", str(wrong)]) == 1
    assert "not an MCAP file" in capsys.readouterr().err
    data, seen, refused = recorded[0].read_bytes(), recorded[1][-1], 0
    # Bytes changed anywhere are noticed, or were none that are read: nothing else is shown than what was recorded.
    for place in range(50, len(data), len(data) // 40):
        wrong.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            with Recording(wrong) as recording:
                np.testing.assert_array_equal(recording.snapshot_at(seen.time).positions, seen.positions)
        except fs.InvalidValueError:
            refused += 1
    assert refused > 10


def test_floors_of_all_storeys_are_recorded(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_yaml(data_file("config", "sites/two_floors.yaml")) as sim:
        plans = floor_plans_of(sim)
        sim.record(tmp_path / "run.mcap").close()
    assert [(plan.name, plan.height) for plan in plans] == [("L1", 0.0), ("L2", 4.0)]
    assert all(plan.stations for plan in plans)
    left, bottom, right, top = plans[1].corners or (0.0,) * 4
    assert right - left > 15.0
    assert top - bottom > 7.0
    with Recording(tmp_path / "run.mcap") as recording:
        assert plans_to_json(recording.floor_plans) == plans_to_json(plans)
    # Recordings made before have one plan, without a name.
    (old,) = plans_from_json(b'{"cell": 0.5, "stations": [["a", "pick", 1, 2, 0]], "zones": [], "doors": []}')
    assert (old.name, old.height, old.corners, old.stations[0].name) == ("", 0.0, None, "a")
    for wrong in (b'{"levels": 3}', b'{"levels": [3]}', b'{"levels": [{"cell": 1, "corners": [1, 2]}]}'):
        with pytest.raises(fs.InvalidValueError):
            plans_from_json(wrong)


# ---- Recorded markers of meshes: the materials of their files, until something paints them ---------------------------


MODEL = """<robot name="r"><link name="base">
<visual><geometry><mesh filename="hull.obj"/></geometry></visual>
<visual><geometry><mesh filename="hull.obj"/></geometry><material name="m"><color rgba="1 0 0 1"/></material></visual>
</link></robot>"""


def test_meshes_keep_their_own_materials_until_they_are_painted(tmp_path: Path) -> None:
    (tmp_path / "hull.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n")
    (tmp_path / "robot.urdf").write_text(MODEL)
    robots = [{"name": "cart", "urdf_path": str(tmp_path / "robot.urdf")}]
    scenario = {"simulation": {"gui": False}, "robots": robots}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim, sim.record(tmp_path / "run.mcap", rate=None):
        sim.step_once()
        # The color of shapes without one: it is painted all the same.
        sim.agents[0].set_color((0.8, 0.8, 0.8, 1.0))
        sim.step_once()
    with (tmp_path / "run.mcap").open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        found = [message for *_, message in reader.iter_decoded_messages(topics=["/fleet/markers"])]
    looks = [
        [(one.mesh_use_embedded_materials, round(one.color.r, 3), one.color.a) for one in message.markers[1:]]
        for message in (found[0], found[-1])
    ]
    assert looks[0] == [(True, 0.0, 0.0), (False, 1.0, 1.0)]
    assert looks[1] == [(False, 0.8, 1.0), (False, 0.8, 1.0)]
    assert found[0].markers[1].mesh_resource == (tmp_path / "hull.obj").as_uri()


# ---- Plans in recordings ---------------------------------------------------------------------------------------------


def test_paths_begin_at_their_robot_and_outlive_what_is_spawned(tmp_path: Path) -> None:
    box = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}
    robots = [{"name": name, "pose": [0, 2 * number, 0.1], "shape": box} for number, name in enumerate("abc")]
    scenario = {"simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0}, "robots": robots}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim, sim.record(tmp_path / "run.mcap", rate=None):
        for number, name in enumerate("abc"):
            sim.get_object(name).set_path([fs.Pose((40.0, 2.0 * number, 0.1))])
        sim.run_simulation(1.0)
        sim.spawn(fs.SimObjectSpawnParams(name="crate", initial_pose=fs.Pose((9.0, 9.0, 0.1))))
        sim.get_object("b").set_name("renamed")
        sim.remove_object(sim.get_object("c"))
        sim.run_simulation(11.0)
        spawned = sim.get_snapshot()
        sim.spawn(fs.AgentSpawnParams(name="c", initial_pose=fs.Pose((0.0, 9.0, 0.1))))
        sim.step_once()
    plans: dict[str, list[tuple[float, list[float]]]] = {}
    with (tmp_path / "run.mcap").open("rb") as stream:
        for _, channel, record, message in make_reader(
            stream, decoder_factories=[DecoderFactory()]
        ).iter_decoded_messages():
            if channel.topic.endswith("/plan"):
                points = [pose.pose.position.x for pose in message.poses]
                plans.setdefault(channel.topic, []).append((round(record.log_time / 1e9, 3), points))
    # Where the robot is comes first; after ten seconds each is there again, for players that begin in the middle.
    (first, begin), (again, later) = plans["/a/plan"]
    assert (first, again, begin[1:], later[1:]) == (0.5, 10.6, [40.0], [40.0])
    assert 0.0 < begin[0] < later[0] < 40.0
    # The paths under old names end.
    assert plans["/b/plan"][-1] == plans["/c/plan"][-1] == (1.1, [])
    assert [time for time, _ in plans["/renamed/plan"]] == [1.1, 11.1]
    with Recording(tmp_path / "run.mcap") as recording:
        read, late = recording.snapshot_at(spawned.time), recording.snapshot_at(recording.times[-1])
    for name in ("names", "path_starts", "path_positions"):
        np.testing.assert_array_equal(getattr(read, name), getattr(spawned, name), err_msg=name)
    new = late.index_of("c")
    assert late.path_starts[new] == late.path_starts[new + 1]


HALL = """
site: hall
cell: 1.0
rows: |
  ............
  ............
  ............
"""


def test_planned_paths_are_given_once_until_they_change(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(HALL)
    shape = {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}
    scenario = {
        "simulation": {"gui": False, "timestep": 0.1, "target_rtf": 0},
        "site": {"map": str(tmp_path / "hall.yaml")},
        "robots": [{"name": "cart", "at": {"site": "free", "count": 6, "seed": 1}, "shape": shape}],
        "traffic": {"planner": "pibt"},
        "tasks": {},
    }
    giver, taker, lengths = SampleEncoder(), SampleDecoder(), []
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        for step in range(60):
            sim.step_once()
            if step == 30:
                giver.start_anew()
            state, roster, colors = sim.snapshots.look()
            data = b"".join(giver.pieces(step, step, 0.1 * step, state))
            read, true = taker.read(data, roster, colors, ()).snapshot, sim.snapshots.take()
            for name in ("path_starts", "path_positions", "path_orientations", "modes", "busy_mask"):
                np.testing.assert_array_equal(getattr(read, name), getattr(true, name), err_msg=name)
            lengths.append(sum(state[name].nbytes for name in state) - len(data))
    # Between two plans they are left out, and after `start_anew` they are not.
    assert max(lengths) > 0 and lengths[30] == min(lengths) < 0


# ---- Readings of sensors in recordings, as the readers of others find them -------------------------------------------


SENSORS = [
    {"type": "lidar", "rays": 36, "range_max": 5.0, "rate": 10.0, "pose": [0.2, 0.0, 0.1]},
    {"type": "imu", "gyro_noise": 0.01},
    {"type": "odometry", "linear_noise": 0.01},
    {"type": "camera", "name": "eye", "width": 32, "height": 24, "rate": 5.0, "intrinsics": [21.0, 19.0, 15.0, 11.0]},
    {"type": "range", "name": "sonar"},
]
SCENARIO_RECORDED_SENSORS = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0, "seed": 5},
    "robots": [
        {
            "name": "cart",
            "pose": [0, 0, 0.3],
            "motion_mode": "omnidirectional",
            "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]},
            "sensors": SENSORS,
        }
    ],
    "objects": [{"name": "crate", "pose": [3, 0, 0.3], "shape": {"shape_type": "box", "half_extents": [0.5] * 3}}],
}


def messages_in(path: Path) -> dict[str, list[Any]]:
    """Return the messages by topic, as the reader of MCAP decodes them."""
    found: dict[str, list[Any]] = {}
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        for schema, channel, _, message in reader.iter_decoded_messages():
            assert schema is not None and (schema.encoding, channel.message_encoding) == ("ros2msg", "cdr")
            found.setdefault(channel.topic, []).append(message)
        assert reader.get_header().profile == "ros2"
    return found


def test_sensors_that_come_later_are_recorded_and_kinds_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDED_SENSORS) as sim:
        with pytest.raises(
            fs.InvalidValueError, match="'range' cannot be recorded; known: camera, imu, lidar, odometry"
        ):
            sim.record(tmp_path / "run.mcap", sensors=("range",))
        with sim.record(tmp_path / "run.mcap", sensors=("all",)):
            sim.run_simulation(0.2)
            box = fs.ShapeParams("box", half_extents=(0.3, 0.2, 0.1))
            sim.spawn(fs.AgentSpawnParams(box, box, fs.Pose((0, 5, 0.3)), name="late", sensors=[{"type": "imu"}]))
            sim.run_simulation(0.2)
    with Recording(tmp_path / "run.mcap") as recording:
        topics = recording.index.topics
        assert {"/cart/scan", "/cart/imu", "/late/imu"} <= set(topics)
        assert len(topics["/late/imu"].places) in (3, 4) and "/cart/sonar" not in topics


def test_sensors_of_objects_have_their_frames(tmp_path: Path) -> None:
    box = {"shape_type": "box", "half_extents": [0.2] * 3}
    crate = {"name": "crate", "pose": [3, 0, 0.3], "shape": box}
    scenario = {"simulation": SCENARIO_RECORDED_SENSORS["simulation"], "objects": [crate]}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        sim.add_sensor("imu", "crate")
        sim.add_sensor("odometry", "crate")
        with sim.record(tmp_path / "run.mcap", sensors=("all",)):
            sim.run_simulation(0.2)
    found = messages_in(tmp_path / "run.mcap")
    static = [(t.header.frame_id, t.child_frame_id) for message in found["/tf_static"] for t in message.transforms]
    assert sorted(static) == [
        ("crate", "crate/base_link"),
        ("crate/base_link", "crate/imu"),
        ("crate/base_link", "crate/odometry"),
        ("map", "crate/odom"),
    ]
    assert found["/crate/odometry"][-1].header.frame_id == "crate/odom"
    assert {t.child_frame_id for message in found["/tf"] for t in message.transforms} == {"crate"}


# ---- recording settings ----------------------------------------------------------------------------------------------


SCENARIO_RECORDING_SETTINGS = {
    "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0},
    "robots": [{"name": "cart", "shape": {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}}],
}


def test_names_that_ros_rejects_are_refused(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDING_SETTINGS) as sim:
        for frame in ("", "/map", "map\n", "m" * 246, 3):
            with pytest.raises(fs.ConfigError, match="map_frame: must be the name of a frame"):
                sim.record(tmp_path / "run.mcap", map_frame=frame)
        for namespace in ("a b", "/a/", "//", "/1a", "/a\n", "/" + "a" * 246, None):
            with pytest.raises(fs.ConfigError, match="namespace: must be a namespace of ROS 2, such as /fleet"):
                sim.record(tmp_path / "run.mcap", namespace=namespace)
    assert not list(tmp_path.iterdir())


def test_frames_are_named_as_the_settings_say(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    for namespace, prefix in (("/", ""), ("", ""), ("hall", "hall/"), ("/site/hall", "site/hall/")):
        with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDING_SETTINGS) as sim:
            sim.record(path, map_frame="earth", namespace=namespace).close()
        with path.open("rb") as stream:
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            tf = next(reader.iter_decoded_messages(["/tf_static"])).decoded_message.transforms
        assert (tf[0].header.frame_id, tf[0].child_frame_id) == ("earth", f"{prefix}cart/odom")


def test_a_rate_above_that_of_the_steps_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.mcap"
    for settings in ({}, {"rate": None}, {"rate": 20.0}, {"rate": 1e9}):
        assert not caplog.messages
        with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDING_SETTINGS) as sim, sim.record(path, **settings):
            sim.run_simulation(1.0)
    assert caplog.messages == [
        "record: rate: 1e+09 Hz is more than the 20 steps per second; each step is recorded, once"
    ]
    with Recording(path) as recording:
        assert len(recording.times) == 21


def test_a_recording_ends_at_its_largest_and_the_run_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, largest = tmp_path / "run.mcap", 20_000
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDING_SETTINGS) as sim:
        recording = sim.record(path, rate=None, largest=largest)
        while not path.exists():
            sim.run_simulation(1.0)
        recording.close()
        sim.run_simulation(1.0)
        end = sim.sim_time
    with Recording(path) as read:
        assert read.whole and 1.0 < read.times[-1] < end
    # Beyond it is what the other process was given before.
    assert largest <= path.stat().st_size < largest + RING
    assert [text.partition(" has ")[2].partition(" bytes, ")[2] for text in caplog.messages] == [
        "which is all it may have: it ends here"
    ]


def test_recordings_of_other_programs_and_versions_are_named(tmp_path: Path) -> None:
    about = {"format": "fleet_sim recording 1", "version": "0.0.1"}
    for name, values, words in (
        ("other", {}, "no recording of fleet_sim"),
        ("fleet_sim", about, "made by fleet_sim 0.0.1"),
    ):
        file = McapFile(tmp_path / f"{name}.mcap")
        file.describe(name, values)
        file.finish()
        with pytest.raises(fs.InvalidValueError, match=words):
            Recording(tmp_path / f"{name}.mcap")


def test_what_is_no_time_and_a_closed_recording_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDING_SETTINGS) as sim:
        sim.record(path).close()
    with Recording(path) as recording:
        for time in (float("nan"), float("inf"), "1", None, True):
            with pytest.raises(fs.InvalidValueError, match="time in s: expected"):
                recording.snapshot_at(time)  # type: ignore[arg-type]
        recording.snapshot_at(1)
    with pytest.raises(fs.StateError, match="was closed"):
        recording.snapshot_at(1)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (5, "got 5"),
        (b"run.mcap", "got b'run.mcap'"),
        ("", "is missing"),
        ("a\0b", "no file has"),
        ("\ud800", "no file"),
    ],
)
def test_what_names_no_file_is_refused_in_the_same_words(path: Any, words: str) -> None:
    with fs.MultiRobotSimulationCore.from_dict(SCENARIO_RECORDING_SETTINGS) as sim:
        calls: list[Callable[[Any], object]] = [
            sim.record,
            Recording,
            RecordedInputs.load,
            partial(InputRecorder, sim),
            sim.load_state,
        ]
        calls += [sim.save_state, fs.MultiRobotSimulationCore.from_yaml]
        calls.append(partial(FilmFile, width=16, height=16, fps=10.0))
        for call in calls:
            with pytest.raises(fs.FleetSimError, match=words):
                call(path)
