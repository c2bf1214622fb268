"""Types of fields as rosidl_parser has them."""

import pytest
import rosidl_parser
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovariance
from rcl_interfaces.msg import ParameterDescriptor
from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractString,
    Array,
    BasicType,
    BoundedSequence,
    BoundedString,
    NamespacedType,
    UnboundedSequence,
    UnboundedString,
)
from rosidl_runtime_py import get_message_slot_types
from rosidl_runtime_py.import_message import import_message_from_namespaced_type
from rosidl_runtime_py.utilities import get_action, get_message_namespaced_type, get_service
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Empty, Header, String


def test_slot_types_follow_the_definition() -> None:
    pose = NamespacedType(["geometry_msgs", "msg"], "Pose")
    assert (pose, Array(BasicType("double"), 36)) == PoseWithCovariance.SLOT_TYPES
    assert Header().SLOT_TYPES[1] == UnboundedString()
    assert Empty.SLOT_TYPES == ()
    statuses = DiagnosticArray.SLOT_TYPES[1]
    assert isinstance(statuses, UnboundedSequence) and not statuses.has_maximum_size()
    assert statuses.value_type == NamespacedType(["diagnostic_msgs", "msg"], "DiagnosticStatus")
    assert SolidPrimitive.SLOT_TYPES[1] == BoundedSequence(BasicType("double"), 3)
    assert SolidPrimitive.SLOT_TYPES[1].has_maximum_size()
    integer_range = get_message_slot_types(ParameterDescriptor())["integer_range"]
    assert isinstance(integer_range, BoundedSequence) and integer_range.maximum_size == 1


def test_types_are_equal_by_class_and_attributes() -> None:
    assert BoundedString(3) == BoundedString(3) != BoundedString(4)
    assert UnboundedString() != BoundedString(0)
    assert isinstance(BoundedString(3), AbstractString) and BoundedString(3).has_maximum_size()
    assert repr(Array(BasicType("octet"), 2)) == "Array(value_type=BasicType(typename='octet'), size=2)"
    with pytest.raises(AssertionError, match="none of"):
        BasicType("float64")
    with pytest.raises(AssertionError, match="no type of an element"):
        UnboundedSequence(UnboundedSequence(BasicType("double")))  # type: ignore[arg-type]


def test_classes_are_found_by_their_types() -> None:
    kind = get_message_namespaced_type("std_msgs/String")
    assert kind == NamespacedType(["std_msgs", "msg"], "String")
    assert kind.namespaced_name() == ("std_msgs", "msg", "String")
    assert import_message_from_namespaced_type(kind) is String
    sequence: AbstractNestedType = UnboundedSequence(kind)
    with pytest.warns(DeprecationWarning):
        assert import_message_from_namespaced_type(sequence) is String


def test_a_name_of_another_kind_is_refused_by_its_kind() -> None:
    with pytest.raises(ValueError, match="full name of a service, got 'std_msgs/msg/String'"):
        get_service("std_msgs/msg/String")
    with pytest.raises(ValueError, match="full name of an action, got 'std_srvs/srv/Empty'"):
        get_action("std_srvs/srv/Empty")


def test_what_is_not_covered_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"rosidl_parser\.parse_idl_file"):
        _ = rosidl_parser.parse_idl_file
