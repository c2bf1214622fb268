"""Message classes behave as rosidl's."""

import copy
import pickle
from array import array

import numpy as np
import pytest
from example_interfaces.action import Fibonacci
from geometry_msgs.msg import Point, Pose, PoseStamped, PoseWithCovariance, Quaternion, Vector3
from rcl_interfaces.msg import ParameterValue
from sensor_msgs.msg import Image, LaserScan, NavSatStatus
from std_msgs.msg import Bool, ByteMultiArray, Float32, Header, String, UInt8
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
        (UInt8(), "data", 256, r"an integer in \[0, 255\]"),
        (UInt8(), "data", 1.0, "of type 'int'"),
        (Bool(), "data", 1, "of type 'bool'"),
        (Pose(), "position", Vector3(), "a sub message of type 'Point'"),
        (LaserScan(), "ranges", ["a"], "a set or sequence"),
        (LaserScan(), "ranges", array("d"), "typecode 'f'"),
        (PoseWithCovariance(), "covariance", [0.0] * 3, "with length 36"),
        (PoseWithCovariance(), "covariance", np.zeros(36, np.float32), "dtype"),
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
    image.data = np.zeros((4, 4, 3), np.uint8)
    assert len(image.data) == 48
    with pytest.raises(AssertionError, match="an integer in"):
        image.data = np.array([300])


def test_constants_are_on_the_class_and_stay() -> None:
    assert Marker.ARROW == 0
    assert Marker().CUBE == 1
    with pytest.raises(AttributeError):
        Marker.ARROW = 5


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
