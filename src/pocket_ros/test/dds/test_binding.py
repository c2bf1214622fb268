"""The binding of Cyclone DDS: what is used of it, beside programs that use all of it."""

import subprocess
import sys


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_node_imports_two_modules_of_the_binding() -> None:
    code = """
import sys
import rclpy
with rclpy.init():
    rclpy.create_node("node").destroy_node()
print(sorted(name for name in sys.modules if name.split(".")[0] == "cyclonedds"))
"""
    assert run(code) == "['cyclonedds.__library__', 'cyclonedds._clayer', 'cyclonedds.internal']\n"


def test_a_program_may_use_the_whole_binding_beside_a_node_whichever_comes_first() -> None:
    """Both declare the functions of the library, each its own way."""
    binding = """
from cyclonedds.domain import DomainParticipant
import cyclonedds, cyclonedds.internal, cyclonedds.qos
assert cyclonedds.internal.DDS._dll_handle
participant = DomainParticipant(int(__import__("os").environ["ROS_DOMAIN_ID"]))
assert participant.guid.int and participant.get_qos() is not None
"""
    node = """
import rclpy
from std_msgs.msg import String
context = rclpy.Context()
context.init()
node = rclpy.create_node("node", context=context)
got = []
node.create_subscription(String, "topic", got.append, 10)
node.create_publisher(String, "topic", 10).publish(String(data="hello"))
executor = rclpy.executors.SingleThreadedExecutor(context=context)
executor.add_node(node)
while not got:
    executor.spin_once()
executor.shutdown()
node.destroy_node()
context.shutdown()
"""
    run(node + binding)
    run(binding + node)


def test_the_fixed_description_is_what_the_binding_computes() -> None:
    code = """
from cyclonedds.idl import make_idl_struct, types
from pocket_ros.dds.participant import DESCRIPTION
described = make_idl_struct("Opaque", "pocket_ros::Opaque", {"first": types.uint8})
described.__idl__.populate()
described.__idl__.fill_type_data()
assert described.__idl__._xt_bytedata == DESCRIPTION
"""
    run(code)
