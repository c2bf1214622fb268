"""The bytes of a template are those the message class serialises to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy")

from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from fleet_sim.ros.fleet import columns_template, states_template
from fleet_sim.ros.messages import row_to_pose_msg, time_to_msg, twists_to_msgs
from fleet_sim.ros.monitoring import markers_template
from fleet_sim.ros.robot_states import joint_states_template, odom_template
from fleet_sim.ros.tf import tf_template
from fleet_sim.world.names import Frames
from fleet_sim_msgs.msg import FleetColumns, FleetState, RobotState

# Names of every length modulo the alignment of what follows them.
NAMES = ["a", "bb", "ccc", "dddd", "robot_5", "robot_66", "robot_777", "robot_8888"]
NOW = 12_345_678_901
FRAMES = Frames("map", "/fleet")


@pytest.fixture
def numbers() -> dict[str, Any]:
    random = np.random.default_rng(1)
    count = len(NAMES)
    orientation = random.normal(size=(count, 4))
    return {
        "position": random.normal(size=(count, 3)),
        "orientation": orientation / np.linalg.norm(orientation, axis=1)[:, None],
        "twist": random.normal(size=(count, 6)),
    }


def poses(numbers: dict[str, Any]) -> list[Any]:
    return [row_to_pose_msg(p, q) for p, q in zip(numbers["position"], numbers["orientation"], strict=True)]


def test_odometry(numbers: dict[str, Any]) -> None:
    template = odom_template(FRAMES, NAMES)
    template.write_stamp(NOW)
    for group in ("position", "orientation", "twist"):
        template.write(group, numbers[group])
    twists = twists_to_msgs(numbers["twist"][:, :3], numbers["twist"][:, 3:])
    for name, pose, twist, piece in zip(NAMES, poses(numbers), twists, template.pieces(), strict=True):
        message = Odometry(child_frame_id=f"fleet/{name}/base_link")
        message.header.frame_id = f"fleet/{name}/odom"
        message.header.stamp = time_to_msg(NOW)
        message.pose.pose, message.twist.twist = pose, twist
        assert piece == serialize_message(message)


def test_tf(numbers: dict[str, Any]) -> None:
    message = TFMessage(transforms=[TransformStamped(child_frame_id=name) for name in NAMES])
    template = tf_template([TransformStamped(child_frame_id=name) for name in NAMES])
    template.write_stamp(NOW)
    template.write("translation", numbers["position"])
    template.write("rotation", numbers["orientation"])
    for transform, pose in zip(message.transforms, poses(numbers), strict=True):
        transform.header.stamp = time_to_msg(NOW)
        point = pose.position
        translation = transform.transform.translation
        translation.x, translation.y, translation.z = point.x, point.y, point.z
        transform.transform.rotation = pose.orientation
    assert template.pieces() == [serialize_message(message)]


def filled(template: Any, names: list[str], random: np.random.Generator) -> FleetState:
    """Write random numbers to the template of the state of a fleet; return the message with them."""
    count = len(names)
    motion, faults = random.normal(size=(count, 22)), random.integers(0, 2**32, (count, 1))
    codes, flags = random.integers(0, 256, (count, 3)), random.integers(0, 2, (count, 6)).astype(bool)
    template.write_stamp(NOW)
    for group, values in {"motion": motion, "faults": faults, "codes": codes, "flags": flags}.items():
        template.write(group, values)
    message = FleetState()
    message.header.frame_id, message.header.stamp = "map", time_to_msg(NOW)
    for name, numbers, fault, code, flag in zip(
        names, motion.tolist(), faults[:, 0].tolist(), codes, flags, strict=True
    ):
        state = RobotState(name=name, distance_left=numbers[13], battery=numbers[14], faults=fault)
        state.pose, state.goal = (
            row_to_pose_msg(numbers[:3], numbers[3:7]),
            row_to_pose_msg(numbers[15:18], numbers[18:]),
        )
        (state.twist,) = twists_to_msgs(np.array([numbers[7:10]]), np.array([numbers[10:13]]))
        state.mode, state.operating_mode, state.last_cause = code.tolist()
        state.moving, state.busy, state.blocked, state.carrying, state.charging, state.has_goal = flag.tolist()
        message.robots.append(state)
    return message


def test_fleet_state_with_texts_that_come_and_go() -> None:
    """Texts of all lengths modulo the alignment of numbers, in robots with names of all lengths."""
    random = np.random.default_rng(2)
    for names in ([], NAMES, NAMES[::-1]):
        template = states_template("map")
        texts = [("", (), "", "")] * len(names)
        template.set_elements(names, texts)
        for _ in range(10):
            message = filled(template, names, random)
            for state, (blocked_by, loads, order, error) in zip(message.robots, texts, strict=True):
                state.blocked_by, state.loads = blocked_by, list(loads)
                state.order, state.last_error = order, error
            # Where its last text ends, it is filled up.
            expected = serialize_message(message)
            assert template.data()[: len(expected)] == expected and len(template.data()) - len(expected) < 4
            lengths = random.integers(0, 9, (len(names), 4)).tolist()
            texts = [("b" * a, tuple("l" * c for c in range(b)), "\u00f6" * c, "e" * d) for a, b, c, d in lengths]
            template.set_texts(texts)


@pytest.mark.parametrize("names", [[], NAMES[:1], NAMES[:3], NAMES])
def test_columns_of_a_fleet_of_any_size(names: list[str]) -> None:
    """Numbers of one byte come before texts: they end at each place modulo the alignment of these."""
    random = np.random.default_rng(3)
    template, message = columns_template("map", names), FleetColumns(names=names)
    message.header.frame_id, message.header.stamp = "map", time_to_msg(NOW)
    for name, values in template.columns.items():
        values[:] = (
            random.integers(0, 2, values.shape) if values.dtype == np.bool_ else random.integers(0, 250, values.shape)
        )
        setattr(message, name, values.reshape(-1).tolist())
    message.last_errors = [name[::-1] for name in names]
    template.set_texts("last_errors", message.last_errors)
    expected = serialize_message(message)
    data = template.data(NOW)
    assert data[: len(expected)] == expected and len(data) - len(expected) < 4


def test_markers(numbers: dict[str, Any]) -> None:
    def markers() -> list[Marker]:
        return [Marker(ns=name, id=index, type=Marker.CUBE, text=name) for index, name in enumerate(NAMES)]

    # Their texts are filled up, so that some can be sent alone.
    shown = markers()
    template = markers_template(shown)
    template.write_stamp(NOW)
    template.write("position", numbers["position"])
    template.write("orientation", numbers["orientation"])
    assert [marker.text.rstrip() for marker in shown] == NAMES
    message = MarkerArray(markers=shown)
    for marker, pose in zip(message.markers, poses(numbers), strict=True):
        marker.header.stamp, marker.pose = time_to_msg(NOW), pose
    assert template.pieces() == [serialize_message(message)]


@pytest.mark.parametrize("chosen", [[3], [0, 7], [1, 2, 4, 5, 6], []])
def test_some_markers(numbers: dict[str, Any], chosen: list[int]) -> None:
    meshes = ["file:///" + "x" * length for length in range(len(NAMES))]
    markers = [
        Marker(ns=name, id=index, type=Marker.MESH_RESOURCE, mesh_resource=mesh)
        for index, (name, mesh) in enumerate(zip(NAMES, meshes, strict=True))
    ]
    template = markers_template(markers)
    template.write_stamp(NOW)
    template.write("position", numbers["position"])
    template.write("orientation", numbers["orientation"])
    sent = template.elements("sec", np.array(chosen, np.int64))
    message = deserialize_message(sent, MarkerArray)
    assert message == deserialize_message(serialize_message(message), MarkerArray)
    # Zeros may follow, up to a multiple of four.
    whole = serialize_message(message)
    assert sent[: len(whole)] == whole and len(sent) - len(whole) <= 3
    assert [(marker.ns, marker.mesh_resource) for marker in message.markers] == [(NAMES[i], meshes[i]) for i in chosen]
    places = [(marker.pose, marker.header.stamp) for marker in message.markers]
    assert places == [(poses(numbers)[index], time_to_msg(NOW)) for index in chosen]


def test_joint_states_of_robots_with_different_joints() -> None:
    names = [["a"], ["shoulder", "elbow", "wrist_22"], ["x_1", "yy_2"]]
    motors = [False, True, False]
    random = np.random.default_rng(1)
    position, velocity, effort = (random.normal(size=(count, 1)) for count in (6, 6, 3))
    template = joint_states_template(names, motors)
    template.write_stamp(NOW)
    template.write("position", position)
    template.write("velocity", velocity)
    template.write("effort", effort)
    firsts = [0, 1, 4, 6]
    for index, piece in enumerate(template.pieces()):
        span = slice(firsts[index], firsts[index + 1])
        message = JointState(
            name=names[index],
            position=position[span, 0].tolist(),
            velocity=velocity[span, 0].tolist(),
            effort=effort[:, 0].tolist() if motors[index] else [],
        )
        message.header.stamp = time_to_msg(NOW)
        assert piece == serialize_message(message)
