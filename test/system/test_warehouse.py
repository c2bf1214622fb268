"""The warehouse, as a user launches it: pallets get from one side to the other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from example import EXAMPLES, load_example
from nav_msgs.msg import Odometry
from node_program import Client, launched

from fleet_sim_msgs.action import MoveTo
from fleet_sim_msgs.msg import Cause, FleetState
from fleet_sim_msgs.srv import List


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[tuple[Client, Path]]:
    log = tmp_path / "launch.log"
    with launched(log, "warehouse.launch.py", "rtf:=8") as client:
        yield client, log


def pallets(client: Client) -> dict[str, float]:
    """Return x of each pallet."""
    answer = client.call(List, "/sim/list", List.Request(kind=List.Request.OBJECTS))
    places = zip(answer.names, answer.poses, strict=True)
    return {name: pose.position.x for name, pose in places if name.startswith("pallet")}


@pytest.mark.slow
def test_every_robot_brings_its_pallet_over(warehouse: tuple[Client, Path]) -> None:
    client, log = warehouse
    states = client.listen(FleetState, "/fleet/states")
    client.until(lambda: states and sum(robot.carrying for robot in states[-1].robots) == 20, "20 loaded robots")
    client.until(lambda: any(x == pytest.approx(9.0) for x in pallets(client).values()), "a delivery")
    client.until(lambda: log.read_text().count(" delivered") >= 20, "20 deliveries")
    assert "Try in a second terminal" in log.read_text()


@pytest.mark.slow
def test_a_robot_that_is_taken_over_comes_back_to_its_work(warehouse: tuple[Client, Path]) -> None:
    client, log = warehouse
    odoms = client.listen(Odometry, "/carrier_0/odom")
    # What it is told it does a moment later, and before that it could not be taken over.
    client.until(lambda: odoms and abs(odoms[-1].twist.twist.linear.x) > 0.1, "the first order")
    goal = MoveTo.Goal()
    goal.pose.pose.position.x, goal.pose.pose.position.y = 3.0, -19.0
    goal.pose.pose.orientation.w = 1.0
    _, result = client.send_goal(MoveTo, "/carrier_0/move_to", goal).result()
    assert result.cause == Cause.NONE
    client.until(lambda: "carrier_0: pallet_0 is at" in log.read_text(), "a delivery by the robot that was taken over")


@pytest.mark.slow
def test_the_commands_of_the_demo_work_as_printed(warehouse: tuple[Client, Path]) -> None:
    client, log = warehouse
    client.until(lambda: "carrier_0: takes pallet_0" in log.read_text(), "the first order")
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    where = {**os.environ, "PATH": folders}
    expected = ["/carrier_0/odom", "frame_id: carrier_0/odom", "SUCCEEDED", "success=True", "success=True"]
    for command, words in zip(load_example("warehouse_demo").COMMANDS, expected, strict=True):
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False, timeout=120, env=where)
        assert done.returncode == 0 and words in done.stdout, (command, done.stdout, done.stderr)


@pytest.mark.slow
def test_the_demo_shows_robots_and_saves_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    program = EXAMPLES / "warehouse_demo.py"
    command = [sys.executable, str(program), "--duration", "5", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == 0, done.stderr
    assert "20 robots: 20 drives" in done.stdout
    assert (tmp_path / "warehouse.png").read_bytes().startswith(b"\x89PNG")


def test_ctrl_c_ends_the_manager_without_a_word_while_it_waits_for_the_simulation() -> None:
    command = [sys.executable, "-u", str(EXAMPLES / "warehouse_client.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        assert program.stdout is not None and "waiting for fleet_sim_node" in program.stdout.readline()
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=60)[0] == "0 pallets delivered\n"
    assert program.returncode == 0
