"""Arms, as a user launches them: the printed commands take things and put them down, and TF has every link."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from node_program import LATCHED, Client, launched
from tf2_msgs.msg import TFMessage

from fleet_sim_msgs.action import Drop, Execute, Pick
from fleet_sim_msgs.msg import Cause
from fleet_sim_msgs.srv import Attach, List

LAUNCH = Path(__file__).parents[2] / "launch"


def commands_of(name: str) -> tuple[str, ...]:
    """Return what a launch file tells its user to try."""
    spec = spec_from_file_location(name, LAUNCH / f"{name}.launch.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    commands: tuple[str, ...] = module.COMMANDS
    return commands


def run(command: str) -> str:
    """Run a command of a user's and return what it prints."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    where = {**os.environ, "PATH": folders}
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, env=where, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def place(client: Client, name: str) -> list[float]:
    """Return where an object is."""
    answer = client.call(List, "/sim/list", List.Request(kind=List.Request.OBJECTS))
    pose = answer.poses[answer.names.index(name)]
    return [pose.position.x, pose.position.y, pose.position.z]


def frames(messages: list[Any]) -> dict[str, str]:
    """Return the parent of every frame in the messages heard so far."""
    transforms = [transform for message in messages for transform in message.transforms]
    return {transform.child_frame_id: transform.header.frame_id for transform in transforms}


@pytest.mark.slow
def test_three_goals_bring_a_parcel_from_the_shelf_to_the_station(tmp_path: Path) -> None:
    goals = [command for command in commands_of("mobile_manipulator") if "send_goal" in command]
    assert len(goals) == 3
    with launched(tmp_path / "launch.log", "mobile_manipulator.launch.py", "rtf:=8") as client:
        moving = client.listen(TFMessage, "/tf")
        fixed = client.listen(TFMessage, "/tf_static", LATCHED)
        client.until(lambda: "mm/wrist_3_link" in frames(moving) and "mm/tcp_link" in frames(fixed), "frames of links")
        known = frames(moving) | frames(fixed)
        chain = ["mm/tcp_link"]
        while chain[-1] in known:
            chain.append(known[chain[-1]])
        assert chain[-4:] == ["mm/arm_base_link", "mm/base_link", "mm/odom", "map"]
        assert place(client, "parcel_1") == pytest.approx([2.83, 0.0, 0.65])
        for command in goals:
            assert "SUCCEEDED" in run(command)
        assert place(client, "parcel_1") == pytest.approx([0.0, 2.85, 0.752])


@pytest.mark.slow
def test_an_arm_that_stands_still_works_by_the_printed_commands(tmp_path: Path) -> None:
    with launched(tmp_path / "launch.log", "arm.launch.py", "rtf:=8") as client:
        client.until(lambda: place(client, "cube_1"), "the cubes")
        for command in commands_of("arm"):
            if "send_goal" in command:
                assert "SUCCEEDED" in run(command), command
        assert place(client, "cube_1") == pytest.approx([0.2, 0.5, 0.03])


def drop_ahead(frame: str) -> Drop.Goal:
    """Return the goal to drop 0.4 m ahead, with the hand above it in a frame."""
    drop = Drop.Goal(use_approach=False, use_ee_target=True, ee_link="tcp_link")
    drop.pose.pose.position.x, drop.pose.pose.orientation.w = 0.4, 1.0
    drop.ee_target.pose.position.x, drop.ee_target.pose.position.z = 0.4, 0.3
    drop.ee_target.pose.orientation.w = 1.0
    drop.ee_target.header.frame_id = frame
    return drop


@pytest.mark.slow
def test_goals_for_arms_are_refused_or_fail_with_the_cause(tmp_path: Path) -> None:
    with launched(tmp_path / "launch.log", "arm.launch.py", "rtf:=8") as client:
        both = Pick.Goal(object="cube_0", use_approach=False, use_arm=True, joint_targets=[0.0])
        assert not client.send_goal(Pick, "/arm/pick", both).handle.accepted
        lengths = Pick.Goal(object="cube_0", use_approach=False, joint_names=["joint_1"], joint_targets=[0.0, 1.0])
        assert not client.send_goal(Pick, "/arm/pick", lengths).handle.accepted

        unknown = Pick.Goal(object="cube_0", use_approach=False, joint_names=["joint_0"], joint_targets=[0.0])
        _, result = client.send_goal(Pick, "/arm/pick", unknown).result()
        assert result.cause == Cause.INVALID_GOAL
        assert "joint_0" in result.text

        far = Pick.Goal(object="cube_0", use_approach=False, use_ee_target=True, continue_on_ik_failure=False)
        far.ee_target.pose.position.x = 5.0
        far.ee_target.pose.orientation.w = 1.0
        _, result = client.send_goal(Pick, "/arm/pick", far).result()
        assert (result.cause, result.text) == (Cause.UNREACHABLE, "IK target was not reachable")

        pose = Execute.Goal(action="pose", parameters='{"target_position": [5.0, 0.0, 0.0]}')
        _, result = client.send_goal(Execute, "/arm/execute", pose).result()
        assert (result.cause, result.text) == (Cause.UNREACHABLE, "IK target was not reachable")

        folded = Pick.Goal(object="cube_0", use_approach=False, attach_link="tcp_link", keep_pose=True)
        folded.joint_names, folded.joint_targets = ["joint_1", "joint_3"], [0.3, 1.2]
        _, result = client.send_goal(Pick, "/arm/pick", folded).result()
        assert (result.cause, result.object) == (Cause.NONE, "cube_0")
        drop = drop_ahead("arm/arm_base_link")
        _, result = client.send_goal(Drop, "/arm/drop", drop).result()
        assert result.cause == Cause.NONE, result.text
        assert place(client, "cube_0") == pytest.approx([0.4, 0.0, 0.0])
        drop.ee_target.header.frame_id = "arm/arm_base"
        refused = client.send_goal(Drop, "/arm/drop", drop)
        assert not refused.handle.accepted or refused.result()[1].cause == Cause.UNKNOWN_FRAME

        attach = Attach.Request(robot="arm", object="cube_2", search_radius=1.0, link="tcp_link")
        assert client.call(Attach, "/sim/attach", attach).success
        attach.object, attach.link = "cube_1", "tcp"
        assert "tcp_link" in client.call(Attach, "/sim/attach", attach).message


@pytest.mark.slow
def test_a_bin_is_emptied_through_ros_alone(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    commands = commands_of("bin_picking")
    assert commands[0] == "python3 examples/bin_picker.py"
    with launched(tmp_path / "launch.log", "bin_picking.launch.py", "rtf:=8") as client:
        picker = LAUNCH.parent / "examples" / "bin_picker.py"
        assert "6 parts brought over" in run(f"{sys.executable} {picker}")
        for index in range(6):
            x, y, z = place(client, f"part_{index}")
            assert abs(x - 0.5) < 0.08
            assert abs(y - 0.3) < 0.08
            assert 0.01 < z < 0.05
        assert "name:" in run(commands[1])
