"""Plans in recordings."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest

import fleet_sim as fs

pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from fleet_sim.apps.record.recording import Recording
from fleet_sim.apps.record.samples import SampleGiver, SampleTaker


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


def test_paths_stay_those_of_their_robots_while_others_come_and_go(tmp_path: Path) -> None:
    shape = {"shape_type": "box", "half_extents": [0.3, 0.2, 0.1]}
    robots = [{"name": f"cart_{number}", "pose": [0, 2 * number, 0.1], "shape": shape} for number in range(8)]
    scenario = {"simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0}, "robots": robots}
    files, true = {None: tmp_path / "each.mcap", 7.0: tmp_path / "some.mcap"}, {}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim, contextlib.ExitStack() as recordings:
        for number in range(8):
            # So long that none ends, and all but one have waypoints.
            corners = [fs.Pose((90.0, 2.0 * number + corner, 0.1)) for corner in range(number)]
            if corners:
                sim.get_object(f"cart_{number}").set_path(corners)
        for rate, file in files.items():
            recordings.enter_context(sim.record(file, rate=rate))
        for step in range(60):
            # At moments at which one of the recordings looks at the paths, and at others.
            if step % 9 == 4:
                sim.remove_object(sim.get_object(f"cart_{step // 9}"))
            if step % 13 == 5:
                sim.spawn(fs.AgentSpawnParams(None, None, fs.Pose.from_xyz(5.0, -step, 0.1), name=f"late_{step}"))
            sim.step_once()
            true[round(sim.sim_time, 6)] = sim.snapshots.take()
    for file in files.values():
        with Recording(file) as recording:
            for time in recording.times[1:]:
                read, own = recording.snapshot_at(time), true[round(float(time), 6)]
                assert read.names == own.names
                for name in ("path_starts", "path_positions", "path_orientations"):
                    np.testing.assert_array_equal(getattr(read, name), getattr(own, name), err_msg=f"{name}, {time}")


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
    giver, taker, lengths = SampleGiver(), SampleTaker(), []
    with fs.MultiRobotSimulationCore.from_dict(scenario) as sim:
        for step in range(60):
            sim.step_once()
            if step == 30:
                giver.start_anew()
            state, roster, colors = sim.snapshots.look()
            data = bytearray(giver.longest(state))
            length = giver.write(memoryview(data), step, step, 0.1 * step, state, with_kernels=False)
            read, true = taker.read(bytes(data[:length]), roster, colors, ()).snapshot, sim.snapshots.take()
            for name in ("path_starts", "path_positions", "path_orientations", "modes", "busy_mask"):
                np.testing.assert_array_equal(getattr(read, name), getattr(true, name), err_msg=name)
            lengths.append(giver.longest(state) - length)
    # Between two plans they are left out, and after `start_anew` they are not.
    assert max(lengths) > 0 and lengths[30] == 0
