"""What tools for any message type use."""

from array import array
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import tf2_geometry_msgs
import tf2_py
import tf2_ros
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from example_interfaces.action import Fibonacci
from geometry_msgs.msg import Point, Point32, Polygon, PoseStamped, Vector3
from rcl_interfaces.msg import ListParametersResult, ParameterValue
from rosidl_runtime_py import (
    get_action_interfaces,
    get_interface_packages,
    get_interface_path,
    get_interfaces,
    get_message_interfaces,
    get_service_interfaces,
    import_message_from_namespaced_type,
    message_to_csv,
    message_to_ordereddict,
    message_to_yaml,
    set_message_fields,
)
from rosidl_runtime_py.utilities import (
    get_action,
    get_action_namespaced_type,
    get_interface,
    get_message,
    get_message_namespaced_type,
    get_namespaced_type,
    get_service,
    get_service_namespaced_type,
    is_action,
    is_message,
    is_service,
)
from sensor_msgs.msg import Imu, LaserScan
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Byte, Int32, String
from std_srvs.srv import SetBool
from tf2_msgs.msg import TFMessage
from unique_identifier_msgs.msg import UUID


def test_classes_are_found_by_name() -> None:
    assert get_message("geometry_msgs/msg/Vector3") is get_interface("geometry_msgs/msg/Vector3") is Vector3
    assert get_message("std_srvs/srv/SetBool_Request") is SetBool.Request
    assert get_service("std_srvs/srv/SetBool") is SetBool
    assert get_action("example_interfaces/action/Fibonacci") is Fibonacci
    assert get_message("geometry_msgs/Vector3") is Vector3
    assert get_service("std_srvs/SetBool") is SetBool
    assert get_action("example_interfaces/Fibonacci") is Fibonacci
    with pytest.raises(ValueError, match="std_srvs/srv/Empty"):
        get_message("std_srvs/srv/Empty")
    for name in ("Vector3", "geometry_msgs/Vector3", "std_srvs/srv/SetBool/x"):
        with pytest.raises(ValueError, match=name):
            get_interface(name)
    with pytest.raises(ValueError, match="full name of an action"):
        get_action("std_srvs/srv/SetBool")
    with pytest.raises(LookupError, match="Vector3"):
        get_message("geometry_msgs/msg/Vector4")


@pytest.mark.parametrize(
    ("package", "kind"), [("no_such_msgs", ModuleNotFoundError), ("example_interfaces", AttributeError)]
)
def test_unknown_names_raise_what_importing_them_would(package: str, kind: type[Exception]) -> None:
    for get, folder in ((get_message, "msg"), (get_service, "srv"), (get_action, "action")):
        with pytest.raises(kind, match=f"{package}/{folder}/Nothing"):
            get(f"{package}/Nothing")
    with pytest.raises(kind, match="Nothing_Request"):
        get_message(f"{package}/srv/Nothing_Request")
    with pytest.raises(kind, match="Nothing"):
        import_message_from_namespaced_type(get_message_namespaced_type(f"{package}/Nothing"))


def test_messages_become_text_and_dictionaries() -> None:
    assert message_to_yaml(Vector3(x=1.0)) == "x: 1.0\ny: 0.0\nz: 0.0\n"
    assert message_to_csv(Vector3(x=1.0)) == "1.0,0.0,0.0"
    found = message_to_ordereddict(PoseStamped())
    assert isinstance(found["pose"]["position"], OrderedDict)
    assert list(found["pose"]["position"]) == ["x", "y", "z"]


def test_dictionaries_fill_messages() -> None:
    pose = PoseStamped()
    assert set_message_fields(pose, {"header": {"frame_id": "map"}, "pose": {"position": {"x": 2}}}) == []
    assert (pose.header.frame_id, pose.pose.position.x) == ("map", 2.0)
    (stamp,) = set_message_fields(pose, {"header": "auto"}, expand_header_auto=True)
    stamp(type(pose.header.stamp)(sec=5))
    assert pose.header.stamp.sec == 5
    with pytest.raises(AttributeError, match="nothing"):
        set_message_fields(pose, {"nothing": 1})


def test_the_parts_of_tf2_are_one() -> None:
    assert tf2_geometry_msgs.__name__ == "pocket_ros.tf2_geometry_msgs"
    assert tf2_py.LookupException is tf2_ros.LookupException


def test_values_are_converted_to_the_types_of_their_fields() -> None:
    for value, expected in (("3", 3), (1.7, 1), (True, 1)):
        number = Int32()
        set_message_fields(number, {"data": value})
        assert number.data == expected
    flag, text = SetBool.Request(), String()
    set_message_fields(flag, {"data": 1})
    set_message_fields(text, {"data": 3})
    assert flag.data is True and text.data == "3"
    with pytest.raises(ValueError, match="text"):
        set_message_fields(Int32(), {"data": "text"})


def test_a_message_may_be_the_value_of_a_field() -> None:
    pose, position, path = PoseStamped(), Point(x=1.0), Polygon()
    set_message_fields(pose, {"pose": {"position": position}})
    assert pose.pose.position is position
    corner = Point32(x=2.0)
    set_message_fields(path, {"points": [corner, {"y": 3}]})
    assert path.points == [corner, Point32(y=3.0)]


def test_a_dictionary_makes_a_new_message_of_its_field() -> None:
    pose = PoseStamped()
    kept = pose.pose.position
    kept.y = 5.0
    set_message_fields(pose, {"pose": {"position": {"x": 2}}})
    assert pose.pose.position == Point(x=2.0) and kept == Point(y=5.0)
    for value in (None, 0, "", [], False):
        with pytest.raises(TypeError, match="is expected to be a dictionary"):
            set_message_fields(pose, {"pose": {"position": value}})


def test_times_of_publishing_may_stand_in_arrays() -> None:
    transforms = TFMessage()
    values = {"transforms": ({"header": "auto"}, {"header": {"stamp": "now", "frame_id": "map"}})}
    setters = set_message_fields(transforms, values, expand_header_auto=True, expand_time_now=True)
    for number, stamp in enumerate(setters, 1):
        stamp(Time(sec=number))
    assert [transform.header.stamp.sec for transform in transforms.transforms] == [1, 2]
    assert transforms.transforms[1].header.frame_id == "map"
    with pytest.raises(TypeError, match="auto"):
        set_message_fields(transforms, values)


def test_arrays_are_filled_from_what_there_is() -> None:
    unique, scan, text = UUID(), LaserScan(), String()
    set_message_fields(unique, {"uuid": ["1", 2.0, *[3] * 14]})
    assert unique.uuid.tolist() == [1, 2, *[3] * 14]
    for ranges in ((1, 2), array("d", [1, 2]), np.array([1, 2])):
        set_message_fields(scan, {"ranges": ranges})
        assert scan.ranges.tolist() == [1, 2]
    set_message_fields(text, {"data": [1]})
    assert text.data == "[1]"
    for message, values in (
        (unique, {"uuid": [300] * 16}),
        (unique, {"uuid": ["a"] * 16}),
        (Polygon(), {"points": [1]}),
        (Int32(), {"data": [1]}),
    ):
        with pytest.raises((TypeError, ValueError, AssertionError)):
            set_message_fields(message, values)


def test_arrays_left_out_name_their_type_and_size() -> None:
    def short(message: object) -> dict[str, object]:
        return dict(message_to_ordereddict(message, no_arr=True))

    assert short(Imu())["orientation_covariance"] == "<array type: double[9]>"
    assert short(Polygon(points=[Point32()])) == {
        "points": "<sequence type: geometry_msgs/msg/Point32, length: 1>"
    }
    assert short(ListParametersResult(names=["a"]))["names"] == "<sequence type: string, length: 1>"
    assert short(SolidPrimitive())["dimensions"] == "<sequence type: double[3], length: 0>"


def test_bytes_in_csv_are_as_python_writes_them() -> None:
    assert message_to_csv(Byte(data=b"2")) == "b'2'"
    assert message_to_csv(DiagnosticStatus(level=b"\x01", name="n")).startswith("b'\\x01',n")
    assert message_to_csv(ParameterValue(byte_array_value=[b"\x01", b"a"])).count("b'") == 2
    assert message_to_yaml(Byte(data=b"2")) == "data: 50\n"


def test_interfaces_are_listed() -> None:
    assert "std_msgs" in get_interface_packages()
    every = get_interfaces()
    assert {"msg/Point", "msg/Pose"} <= set(every["geometry_msgs"]) and "rclpy" not in every
    assert get_interfaces(["std_srvs"]) == get_service_interfaces(["std_srvs"])
    assert get_message_interfaces(["std_srvs", "std_msgs"]).keys() == {"std_msgs"}
    assert "action/Fibonacci" in get_action_interfaces(["example_interfaces"])["example_interfaces"]
    assert get_interfaces(["rclpy"]) == {}
    with pytest.raises(LookupError, match="no_such_package"):
        get_interfaces(["std_msgs", "no_such_package"])
    for name in ("std_msgs/msg/String", "std_msgs/msg/String.msg"):
        assert "string data" in Path(get_interface_path(name)).read_text()
    for name in ("std_msgs/msg/Nothing", "std_msgs/msg/String.srv"):
        with pytest.raises(LookupError, match=name):
            get_interface_path(name)
    with pytest.raises(ValueError, match="package/kind/Name"):
        get_interface_path("std_msgs/String")


def test_names_become_types_and_types_classes() -> None:
    named = get_message_namespaced_type("std_msgs/String")
    assert named.namespaced_name() == ("std_msgs", "msg", "String")
    assert import_message_from_namespaced_type(named) is String
    request = get_namespaced_type("std_srvs/srv/SetBool_Request")
    assert import_message_from_namespaced_type(request) is SetBool.Request
    assert get_service_namespaced_type("std_srvs/SetBool").namespaces == ["std_srvs", "srv"]
    assert get_action_namespaced_type("a/B").namespaces == ["a", "action"]
    kinds = {String: is_message, SetBool: is_service, Fibonacci: is_action}
    for interface, is_kind in kinds.items():
        assert [check(interface) for check in kinds.values()] == [
            check is is_kind for check in kinds.values()
        ]


def test_a_text_that_was_cut_keeps_its_mark() -> None:
    assert message_to_yaml(String(data="hello world"), truncate_length=5) == "data: hello...\n"
    assert message_to_yaml(3) == "3\n"
