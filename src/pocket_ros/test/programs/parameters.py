"""A node with parameters of several kinds."""

import rclpy
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node

rclpy.init()
node = Node("configured", namespace="/robot_1")
limits = FloatingPointRange(from_value=0.0, to_value=2.0)
node.declare_parameter("speed", 1.5, ParameterDescriptor(description="m/s", floating_point_range=[limits]))
node.declare_parameter("name", "r", ParameterDescriptor(read_only=True))
node.declare_parameter("arm.joints", ["a", "b"])
node.declare_parameter("mode", 0)


def check(parameters) -> SetParametersResult:  # type: ignore[no-untyped-def]
    for parameter in parameters:
        if parameter.name == "mode" and parameter.value > 3:
            return SetParametersResult(successful=False, reason="there are modes 0 to 3")
    return SetParametersResult(successful=True)


node.add_on_set_parameters_callback(check)
print("ready", node.get_parameter("speed").value, node.get_parameter("mode").value, flush=True)
rclpy.spin(node)
