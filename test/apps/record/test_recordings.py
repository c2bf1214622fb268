"""Recordings: what is in them, by the readers of others and by ours, and what happens when writing fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.world.snapshot import Snapshot

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from depot import depot, orders_of
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.rosbag2 import Reader

from fleet_sim.apps.cli.main import main
from fleet_sim.apps.record.recording import Recording
from fleet_sim.base.files import data_file
from fleet_sim.warehouse.sites.pictures import floor_plans_of, plans_from_json, plans_to_json

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


def test_our_reader_returns_the_snapshots(recorded: tuple[Path, list[Snapshot], str]) -> None:
    path, seen, _ = recorded
    with Recording(path) as recording:
        assert recording.whole
        assert len(recording.times) == STEPS + 1
        assert recording.scenario["simulation"]["seed"] == 5
        # Back and forth, as on a time axis.
        for step in (59, 25, 40, 3, 31, 29):
            true, read = seen[step], recording.snapshot_at(seen[step].time)
            assert (read.names, read.tick, read.time) == (true.names, true.tick, pytest.approx(true.time))
            for name in ("positions", "orientations", "joint_positions", "carriers", "colors", "modes", "object_ids"):
                np.testing.assert_array_equal(getattr(read, name), getattr(true, name), err_msg=f"{name} at {step}")
            robots = true.agent_mask
            np.testing.assert_allclose(read.velocities[robots], true.velocities[robots], atol=1e-6)
            assert read.bodies.shapes == true.bodies.shapes
            assert [model and model.path for model in read.bodies.models] == [
                model and model.path for model in true.bodies.models
            ]
        # Plans are looked at twice a second.
        np.testing.assert_array_equal(recording.snapshot_at(0.6).path_positions, seen[11].path_positions)
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
        with pytest.raises(fs.InvalidValueError, match=r"known: \.mcap"):
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
        assert {station.kind.value for station in plan.stations} == {
            "pick",
            "workstation",
            "charge",
        }
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
        ("--speed=-1", "--speed: expected 0, or a number from 1e-06 to 1e+06, got -1"),
        ("--speed=5e-324", "--speed: expected 0, or a number from 1e-06 to 1e+06"),
        ("--start=nan", "s long, got nan"),
        ("--start=-1", "s long, got -1"),
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
