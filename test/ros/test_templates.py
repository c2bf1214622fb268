"""The bytes of a template are those the message class serialises to."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Pose as PoseMsg
from geometry_msgs.msg import PoseStamped, Twist
from nav_msgs.msg import Odometry
from plain_geometry import matrix
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.utilities import get_rmw_implementation_identifier
from sensor_msgs.msg import Imu, JointState, PointCloud2
from std_msgs.msg import Empty
from visualization_msgs.msg import Marker, MarkerArray

from fleet_sim import ActionCause, MoveTo, Pose
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.spatial.shapes import ShapeKind
from fleet_sim.models import load_robot_model, resolve_urdf
from fleet_sim.models.kinematics.tree import base_frame
from fleet_sim.ros import messages as conv
from fleet_sim.ros.actions import CODES, cause_of_action
from fleet_sim.ros.fleet import columns_template, states_template
from fleet_sim.ros.messages import decode, row_to_pose_msg, time_to_msg, to_cdr, twists_to_msgs
from fleet_sim.ros.monitoring import markers_template
from fleet_sim.ros.robot_states import describe, joint_states_template
from fleet_sim.ros.tf import fixed_transforms, moving_transforms
from fleet_sim.world.clock import Clock, RosTime
from fleet_sim.world.commands import CommandAck, Frames
from fleet_sim.world.shapes import BodyShape, Geometry
from fleet_sim_msgs.msg import Cause, FleetColumns, FleetState, RobotState

# Names of every length modulo the alignment of what follows them.
NAMES = ["a", "bb", "ccc", "dddd", "robot_5", "robot_66", "robot_777", "robot_8888"]
LETTERS = "ab\u00f6cdefg"
NOW = 12_345_678_901


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


def some_of(kind: Any, random: np.random.Generator) -> Any:
    """Return a message of a type with texts, numbers and as many elements as come, in all its fields."""
    message = kind()
    for name, text in kind.get_fields_and_field_types().items():
        value, of = getattr(message, name), text.removeprefix("sequence<").rstrip(">")
        if text.startswith("sequence<"):
            count = int(random.integers(0, 4))
            package, _, own = of.partition("/")
            if own:
                values = [some_of(getattr(import_module(f"{package}.msg"), own), random) for _ in range(count)]
            else:
                values = [LETTERS[: random.integers(0, 9)] if of == "string" else count % 2 == 1] * count
            setattr(message, name, values)
        elif isinstance(value, str):
            setattr(message, name, LETTERS[: random.integers(0, 9)])
        elif hasattr(value, "get_fields_and_field_types"):
            setattr(message, name, some_of(type(value), random))
        elif isinstance(value, (bool, int, float)):
            setattr(message, name, type(value)(random.integers(0, 2)))
        elif "[" in text:
            value[:] = random.integers(0, 100, len(value))
    return message


@pytest.mark.parametrize(
    "kind", [FleetState, FleetColumns, Odometry, JointState, MarkerArray, PointCloud2, Imu, Empty], ids=str
)
def test_messages_have_the_bytes_of_the_client_library_and_zeros_between_them(kind: Any) -> None:
    """Some middlewares leave between them, and behind, what was in memory; what is read from them is the same."""
    random = np.random.default_rng(5)
    for _ in range(20):
        message = some_of(kind, random)
        data, theirs = to_cdr(message), bytes(serialize_message(message))
        assert deserialize_message(data, kind) == message
        assert to_cdr(deserialize_message(theirs, kind)) == data
        if not get_rmw_implementation_identifier().startswith("rmw_fastrtps"):
            assert data == theirs


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
            expected = to_cdr(message)
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
    expected = to_cdr(message)
    data = template.data(NOW)
    assert data[: len(expected)] == expected and len(data) - len(expected) < 4


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
    assert message == deserialize_message(to_cdr(message), MarkerArray)
    # Zeros may follow, up to a multiple of four.
    whole = to_cdr(message)
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
        assert piece == to_cdr(message)


# ---- Frames of links: one tree per robot, whatever its description calls the base ------------------------------------


@pytest.mark.parametrize(
    ("name", "base"),
    [("mobile_manipulator", "bot/base_link"), ("panda", "bot/base_link"), ("husky", "bot/base_footprint")],
)
def test_every_link_has_one_way_to_the_base(name: str, base: str) -> None:
    model, frames = load_robot_model(resolve_urdf(name)), Frames("map")
    assert base_frame(frames, "bot", model) == base
    made = [*moving_transforms(frames, "bot", model), *fixed_transforms(frames, "bot", model)]
    parents = {transform.child_frame_id: transform.header.frame_id for transform in made}
    assert len(parents) == len(made), "two parents"
    assert base not in parents
    for link in (*model.link_names, model.base_name):
        frame = f"bot/{link}"
        while frame != base:
            frame = parents[frame]


def test_the_bases_own_name_is_a_frame_too() -> None:
    model, frames = load_robot_model(resolve_urdf("panda")), Frames("map", "/left")
    (alias,) = [
        made for made in fixed_transforms(frames, "bot", model) if made.child_frame_id == "left/bot/panda_link0"
    ]
    assert alias.header.frame_id == "left/bot/base_link"
    assert alias.transform.rotation.w == 1.0


# ---- Values as messages, times, bytes that are not the whole of a message, and causes --------------------------------


GOAL = PoseStamped()
GOAL.header.frame_id = "map"
GOAL.pose.position.x = 2.0
DATA = bytes(serialize_message(GOAL))


@pytest.mark.parametrize(
    ("nanoseconds", "parts"),
    [(0, (0, 0)), (1_999_999_999, (1, 999_999_999)), (2**31 * conv.NS_PER_S - 1, (2**31 - 1, 999_999_999))],
)
def test_times(nanoseconds: int, parts: tuple[int, int]) -> None:
    message = conv.time_to_msg(nanoseconds)
    assert (message.sec, message.nanosec) == parts and conv.time_from_msg(message) == nanoseconds


def test_poses_that_are_none_are_refused() -> None:
    for name, value in (("position.x", float("nan")), ("position.y", float("inf")), ("orientation.w", 0.0)):
        message, (part, axis) = PoseMsg(), name.split(".")
        setattr(getattr(message, part), axis, value)
        with pytest.raises(InvalidValueError, match=r"finite|zero"):
            conv.pose_from_msg(message)


def test_a_name_as_long_as_a_message_is_not_sent_back_whole() -> None:
    ack = CommandAck(rejected={"x" * 100_000: "unknown robot", "cart": "unknown robot"})
    told = conv.ack_to_msg(ack, 0)
    assert [len(name) for name in told.rejected] == [203, 4] and len(told.reasons) == 2


@pytest.mark.parametrize("message", [GOAL, Twist(), JointState(name=["a", "bc"], position=[1.0, 2.0])])
@pytest.mark.parametrize("padding", [b"", b"\0\0\0"])
def test_whole_messages_are_read(message: object, padding: bytes) -> None:
    assert decode(bytes(serialize_message(message)) + padding, type(message)) == message


@pytest.mark.parametrize("begin", ["0003", "0007", "00ff", "ffff", "0101", "0a01"])
def test_another_encapsulation_is_refused(begin: str) -> None:
    with pytest.raises(InvalidValueError, match="not plain CDR"):
        decode(bytes.fromhex(begin) + DATA[2:], PoseStamped)


@pytest.mark.parametrize("data", [DATA + bytes(4), DATA + bytes(1000), DATA[:-1], DATA[:20], DATA[:4], b"\0\1", b""])
def test_more_or_less_than_a_message_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidValueError):
        decode(data, PoseStamped)


def test_time_never_goes_back_whoever_asked_last() -> None:
    clock = Clock(0.05)
    time = RosTime(clock)
    clock.tick = 10
    published = time.now(ticks_ahead=1)
    assert time.now() < published
    assert time.last == published
    clock.tick = 3
    time.on_reset()
    # The state after the reset is another one than that before it, so it has another stamp.
    assert time.now() == published + 50_000_000
    assert time.now(ticks_ahead=1) == published + 100_000_000


def test_every_cause_has_the_value_of_its_name() -> None:
    spelled = {ActionCause.CANCELLED: "CANCELED"}
    assert {cause: getattr(Cause, spelled.get(cause, cause.name)) for cause in ActionCause} == CODES
    action = MoveTo(Pose((1.0, 0.0, 0.0)))
    action.cancel("not today", ActionCause.PREEMPTED)
    assert cause_of_action(action) == (Cause.PREEMPTED, "not today")
    action = MoveTo(Pose((1.0, 0.0, 0.0)))
    action.complete()
    assert cause_of_action(action) == (Cause.NONE, "")


SHAPES = [
    (ShapeKind.BOX, "halfSide", (0.31, 0.17, 0.23)),
    (ShapeKind.SPHERE, "radius", 0.27),
    (ShapeKind.CYLINDER, ("radius", "halfLength"), (0.27, 0.45)),
    # URDF has no capsule: a cylinder as long as that.
    (ShapeKind.CAPSULE, ("radius", "halfLength"), (0.27, 0.72)),
]


@pytest.mark.parametrize(("kind", "names", "sizes"), SHAPES)
def test_descriptions_of_shapes_are_read_by_pinocchio(kind: ShapeKind, names: Any, sizes: Any) -> None:
    pin = pytest.importorskip("pinocchio")
    turn = np.array((0.3, -0.2, 0.4, 0.8)) / np.linalg.norm((0.3, -0.2, 0.4, 0.8))
    made = {"half_extents": (0.31, 0.17, 0.23), "radius": 0.27, "height": 0.9, "rgba": (0.1, 0.6, 0.3, 0.7)}
    seen = Geometry(kind, **made, position=(0.4, -0.7, 0.2), orientation=tuple(turn.tolist()))
    text = describe("cart", BodyShape(seen, replace(seen, position=(-0.3, 0.5, 0.6))))
    model = pin.buildModelFromXML(text)
    for geometry, place in ((pin.VISUAL, (0.4, -0.7, 0.2)), (pin.COLLISION, (-0.3, 0.5, 0.6))):
        (found,) = pin.buildGeomFromUrdfString(model, text, geometry).geometryObjects
        told = [getattr(found.geometry, name) for name in ([names] if isinstance(names, str) else names)]
        assert np.concatenate([np.atleast_1d(one) for one in told]) == pytest.approx(np.atleast_1d(sizes), rel=1e-6)
        assert found.placement.translation == pytest.approx(place)
        assert found.placement.rotation == pytest.approx(matrix(turn), abs=1e-6)
        if geometry == pin.VISUAL:
            assert found.meshColor == pytest.approx(made["rgba"])
