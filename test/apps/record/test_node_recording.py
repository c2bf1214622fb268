"""Recordings of the node, and what other programs of ROS make of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("mcap")
pytest.importorskip("rosbags")

from ros_domain import use_own_domain  # noqa: E402

use_own_domain()

from mcap.reader import make_reader  # noqa: E402
from node_program import NodeProcess, running  # noqa: E402

from fleet_sim.apps.record.recording import Recording  # noqa: E402
from fleet_sim.ros.services import MOST_BYTES  # noqa: E402
from fleet_sim_msgs.msg import FleetState  # noqa: E402
from fleet_sim_msgs.srv import Record  # noqa: E402

SCANNER = """
robots:
  - name: scanner
    pose: [0, -3, 0.1]
    shape: {shape_type: box, half_extents: [0.2, 0.2, 0.1]}
    sensors: [{type: lidar, rays: 8, rate: 10.0}, {type: imu}]
"""

# Beside Python in a virtual environment that is not activated.
ROS2 = shutil.which("ros2", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))) or ""


def command(*arguments: str) -> str:
    """What a program prints that ends without an error."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done
    return done.stdout


def test_the_node_records_by_parameter_and_by_service(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    folder.mkdir()
    whole = tmp_path / "whole.mcap"
    parameters = [f"record:={whole}", f"record_folder:={folder}", "robots:=3", "target_rtf:=0.0"]
    scenario = tmp_path / "scanner.yaml"
    scenario.write_text(SCANNER)
    parameters += [f"config:={scenario}", "record_sensors:=lidar"]
    with running(tmp_path / "log", *(part for one in parameters for part in ("-p", one))) as (node, client):

        def record(name: str) -> Record.Response:
            return client.call(Record, "/sim/record", Record.Request(name=name))

        for wrong in ("../out.mcap", "/tmp/out.mcap", ".out.mcap", "out.bag"):
            answer = record(wrong)
            assert not answer.success
            assert answer.message
        (folder / "link.mcap").symlink_to(tmp_path / "elsewhere.mcap")
        assert "cannot be written" in record("link.mcap").message
        (folder / "link.mcap").unlink()
        # What a disk has room for is not for peers to use up. Nothing is in it but its length.
        with (folder / "old.mcap").open("wb") as old:
            old.truncate(MOST_BYTES)
        assert "10,000,000,000 bytes" in record("part.mcap").message
        (folder / "old.mcap").unlink()
        assert record("part.mcap").success
        assert "is being recorded" in record("other.mcap").message
        client.until(client.listen(FleetState, "/fleet/states").__len__, "a state")
        ended = record("")
        assert ended.success
        assert [Path(ended.path)] == list(folder.iterdir())
        assert "nothing is being recorded" in record("").message
        code, _ = node.end()
        assert code == 0, node.output()
    for path in (Path(ended.path), whole):
        with Recording(path) as recording:
            assert recording.snapshot_at(0.0).names == ("scanner", "robot_0", "robot_1", "robot_2")
        with path.open("rb") as file:
            counts = make_reader(file).get_summary()
        assert counts is not None and counts.statistics is not None
        scans = [number for number, channel in counts.channels.items() if channel.topic == "/scanner/scan"]
        assert len(scans) == 1 and counts.statistics.channel_message_counts[scans[0]] > 0
        # Other sensors are not recorded: only that kind was asked for.
        assert not any(channel.topic.endswith("imu") for channel in counts.channels.values())
    assert "Topic: /fleet/states | Type: fleet_sim_msgs/msg/FleetState" in command(ROS2, "bag", "info", str(whole))


@pytest.mark.slow
def test_sensors_that_cannot_be_recorded_end_the_node_with_the_reason(tmp_path: Path) -> None:
    for parameters, reason in (
        (["record_sensors:=lidar"], "set record or record_folder too"),
        ([f"record:={tmp_path / 'run.mcap'}", "record_sensors:=lidar,sonar"], "readings of 'sonar' cannot be recorded"),
    ):
        node = NodeProcess(tmp_path / "log", *(part for one in parameters for part in ("-p", one)))
        assert node.wait() == 1 and reason in node.output()


@pytest.mark.slow
def test_a_recording_is_published_on_ros(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    fleet_sim = [sys.executable, "-m", "fleet_sim.apps.cli.main"]
    command(*fleet_sim, "run", "demo.yaml", "--headless", "--duration", "1", "--record", str(path))
    with subprocess.Popen([*fleet_sim, "replay", str(path), "--publish", "--speed", "1"], env=os.environ) as replay:
        from node_program import Client

        client = Client("listener")
        try:
            states = client.listen(FleetState, "/fleet/states")
            client.until(lambda: states, "a recorded state")
        finally:
            client.close()
        assert replay.wait(30) == 0
    with Recording(path) as recording:
        names = recording.snapshot_at(0.0).names
    assert [robot.name for robot in states[0].robots] == list(names[: len(states[0].robots)])
