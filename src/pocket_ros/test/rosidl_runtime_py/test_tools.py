"""What tools for any message type use."""

from collections import OrderedDict

import pytest
import tf2_geometry_msgs
import tf2_py
import tf2_ros
from example_interfaces.action import Fibonacci
from geometry_msgs.msg import Point, Point32, Polygon, PoseStamped, Vector3
from rosidl_runtime_py import message_to_csv, message_to_ordereddict, message_to_yaml, set_message_fields
from rosidl_runtime_py.utilities import get_action, get_interface, get_message, get_service
from std_msgs.msg import Int32, String
from std_srvs.srv import SetBool


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
    with pytest.raises(ValueError, match="package/action/Name"):
        get_action("std_srvs/srv/SetBool")
    with pytest.raises(LookupError, match="Vector3"):
        get_message("geometry_msgs/msg/Vector4")


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
