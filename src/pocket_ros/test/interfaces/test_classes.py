"""Message classes behave as rosidl's."""

import copy
import pickle
from array import array
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from example_interfaces.action import Fibonacci
from geometry_msgs.msg import Point, Pose, PoseStamped, PoseWithCovariance, Quaternion, Vector3
from nav_msgs.msg import OccupancyGrid
from rcl_interfaces.msg import ParameterValue
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image, JointState, LaserScan, NavSatStatus
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Bool, ByteMultiArray, Empty, Float32, Float64, Header, String, UInt8
from std_srvs.srv import SetBool
from visualization_msgs.msg import Marker


def test_defaults_keywords_and_equality() -> None:
    assert Quaternion().w == 1.0
    assert NavSatStatus().status == -2
    assert Vector3(x=1.0, z=2.0) == Vector3(x=1.0, y=0.0, z=2.0) != Vector3()
    assert Pose(position=Point(x=1.0)).position.x == 1.0
    assert String(data="x") != UInt8()


def test_instances_do_not_share_their_values() -> None:
    a, b = PoseWithCovariance(), PoseWithCovariance()
    a.covariance[0] = 1.0
    a.pose.position.x = 2.0
    assert b.covariance[0] == 0.0
    assert b.pose.position.x == 0.0


@pytest.mark.parametrize(
    ("message", "field", "value", "reason"),
    [
        (String(), "data", 1, "of type 'str'"),
        (Float32(), "data", 1, "of type 'float'"),
        (Float32(), "data", 1e39, r"a float in"),
        (UInt8(), "data", 256, r"an unsigned integer in \[0, 255\]"),
        (UInt8(), "data", 1.0, "of type 'int'"),
        (Bool(), "data", 1, "of type 'bool'"),
        (Pose(), "position", Vector3(), "a sub message of type 'Point'"),
        (LaserScan(), "ranges", ["a"], "a set or sequence"),
        (Image(), "data", [256], "in .0, 255."),
        (ByteMultiArray(), "data", b"ab", "each value of type 'bytes'"),
    ],
)
def test_assignment_is_checked(message: object, field: str, value: object, reason: str) -> None:
    with pytest.raises(AssertionError, match=f"The '{field}' field must be.*{reason}"):
        setattr(message, field, value)


def test_unknown_keywords_and_attributes_are_errors() -> None:
    with pytest.raises(AssertionError, match="Invalid arguments passed to constructor: y"):
        String(y=1)
    with pytest.raises(AttributeError):
        String().y = 1


def test_sequences_are_arrays_and_whole_buffers_are_taken() -> None:
    scan = LaserScan(ranges=[1.0, 2.0])
    assert isinstance(scan.ranges, array)
    scan.ranges = np.arange(3.0)
    assert scan.ranges.tolist() == [0.0, 1.0, 2.0]
    image = Image(data=b"\x01\x02")
    assert image.data == array("B", [1, 2])
    image.data = np.zeros((4, 4, 3), np.uint8).ravel()
    assert len(image.data) == 48
    assert OccupancyGrid(data=b"ab").data == array("b", [97, 98])


NUMBERS: list[Any] = [
    [0, 1],
    (0, 1.0),
    range(2),
    [False, True],
    array("f", [0, 1]),
    array("q", [0, 1]),
    np.array([0, 1]),
    np.array([0, 1], np.float32),
    (float(i) for i in range(2)),
    {0: "a", 1: "b"}.keys(),
]


@pytest.mark.parametrize("numbers", NUMBERS, ids=lambda numbers: type(numbers).__name__)
def test_numbers_of_any_kind_are_taken_for_floats(numbers: Any) -> None:
    state = JointState()
    state.position = numbers
    assert state.position == array("d", [0.0, 1.0])


@pytest.mark.parametrize("ones", [[1] * 36, np.ones(36, int), np.ones(36, np.float32), array("f", [1] * 36)])
def test_fixed_arrays_are_converted(ones: Any) -> None:
    covariance = PoseWithCovariance(covariance=ones).covariance
    assert covariance.dtype == np.float64
    assert covariance.tolist() == [1.0] * 36


@pytest.mark.parametrize(
    ("cls", "field", "value", "error"),
    [
        (Image, "data", [256], OverflowError),
        (Image, "data", [-1], OverflowError),
        (Image, "data", np.array([300]), OverflowError),
        (Image, "data", ["a"], TypeError),
        (Image, "data", "abc", TypeError),
        (Image, "data", None, TypeError),
        (Image, "data", np.array([1.0]), TypeError),
        (Image, "data", np.zeros((2, 2), np.uint8), TypeError),
        (JointState, "position", 5, TypeError),
        (JointState, "position", np.ones((2, 2)), TypeError),
        (PoseWithCovariance, "covariance", np.eye(6), TypeError),
    ],
)
def test_what_cannot_be_converted_is_an_error(cls: Any, field: str, value: Any, error: type) -> None:
    for kind in (error, AssertionError):  # without and with the checks of rclpy
        with pytest.raises(kind, match=f"The '{field}' field must be a set or sequence"):
            cls(**{field: value})


def test_sizes_are_checked() -> None:
    with pytest.raises(AssertionError, match=r"'covariance' numpy.ndarray\(\) must have a size of 36"):
        PoseWithCovariance(covariance=[0.0] * 3)
    with pytest.raises(AssertionError, match=r"'dimensions' array.array\(\) must have a size <= 3"):
        SolidPrimitive(dimensions=[0.0] * 4)


def test_checks_of_single_values_can_be_left_out() -> None:
    assert String(data=1, check_fields=False).data == 1
    assert JointState(position=[1], check_fields=False).position == array("d", [1.0])


def test_numpy_scalars_become_floats() -> None:
    assert repr(Float64(data=np.float64(1.0))) == "std_msgs.msg.Float64(data=1.0)"


def test_a_message_without_fields_shows_none() -> None:
    assert repr(Empty()) == "std_msgs.msg.Empty()"
    assert Empty.get_fields_and_field_types() == {}
    data = serialize_message(Empty())
    assert len(data) == 5
    assert deserialize_message(data, Empty) == Empty()


def test_constants_are_on_the_class_and_stay() -> None:
    assert Marker.ARROW == 0
    assert Marker().CUBE == 1
    with pytest.raises(AttributeError):
        Marker.ARROW = 5
    assert {name for name in dir(GoalStatus) if name.startswith("STATUS_")} == {
        *("STATUS_UNKNOWN", "STATUS_ACCEPTED", "STATUS_EXECUTING", "STATUS_CANCELING"),
        *("STATUS_SUCCEEDED", "STATUS_CANCELED", "STATUS_ABORTED"),
    }


def test_field_types_are_idl_names() -> None:
    assert LaserScan.get_fields_and_field_types()["ranges"] == "sequence<float>"
    assert Header.get_fields_and_field_types() == {"stamp": "builtin_interfaces/Time", "frame_id": "string"}
    assert PoseWithCovariance.get_fields_and_field_types()["covariance"] == "double[36]"
    assert ParameterValue.get_fields_and_field_types()["byte_array_value"] == "sequence<octet>"


def test_services_and_actions_have_their_parts() -> None:
    assert SetBool.Request(data=True).data
    assert Fibonacci.Goal(order=3) == Fibonacci.Goal(order=3)
    assert Fibonacci.Impl.SendGoalService.Request().goal == Fibonacci.Goal()
    with pytest.raises(NotImplementedError):
        SetBool()


def test_messages_can_be_copied_pickled_and_printed() -> None:
    message = PoseStamped(header=Header(frame_id="map"))
    assert pickle.loads(pickle.dumps(message)) == message
    twin = copy.deepcopy(message)
    twin.header.frame_id = "odom"
    assert message.header.frame_id == "map"
    assert repr(Vector3(x=1.0)) == "geometry_msgs.msg.Vector3(x=1.0, y=0.0, z=0.0)"
