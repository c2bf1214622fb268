"""What is not covered says so."""

import pytest
from example_interfaces.srv import AddTwoInts
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState


def test_calls_that_are_not_covered_name_themselves(ros: None) -> None:
    node = Node("here")
    client = node.create_client(AddTwoInts, "add")
    with pytest.raises(NotImplementedError, match="configure_introspection"):
        client.configure_introspection(
            node.get_clock(), QoSProfile(depth=1), ServiceIntrospectionState.CONTENTS
        )
    with pytest.raises(NotImplementedError, match="add_waitable"):
        node.add_waitable(object())
    with pytest.raises(NotImplementedError, match="LifecycleNode"):
        from rclpy.lifecycle import LifecycleNode  # noqa: F401
    with pytest.raises(NotImplementedError, match="Waitable"):
        from rclpy.waitable import Waitable

        Waitable(node.default_callback_group)
    with pytest.raises(NotImplementedError, match="QoSOverridingOptions"):
        from rclpy.qos_overriding_options import QoSOverridingOptions

        QoSOverridingOptions.with_default_policies()
