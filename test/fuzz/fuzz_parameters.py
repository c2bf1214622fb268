"""The target of parameters: those that a node is started with, and those that are set later."""

from __future__ import annotations

import math
import tempfile
import weakref
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from fuzz_schema import NUMBERS, TEXTS, expanded
from fuzz_target import Target

from fleet_sim.base.errors import FleetSimError

if TYPE_CHECKING:
    from fleet_sim.ros.node import FleetSimNode, NodeParameters

LONGEST = 5000
"""Characters of a message."""

ARGUMENTS = (
    *("robots:=3", "gui:=false", "paused:=true", "read_only:=false", "remote_spawn:=true", "target_rtf:=2.0"),
    *("rates.odom:=5", "rates.tf:=10.0", "client_timeout:=3.5", "record_sensors:=''", "view_port:=8080"),
    *("view_host:=127.0.0.1", "state_folder:=''", "record:=''", "config:=demo.yaml", "fleet_sim:robots:=2"),
    "use_sim_time:=false",
)
FILE = """fleet_sim:
  ros__parameters:
    robots: 3
    gui: false
    target_rtf: 1.0
    rates: {odom: 5, tf: 10.0}
    record_sensors: ''
/**:
  ros__parameters: {paused: true, client_timeout: 2.0}
"""
SET = ("target_rtf: 2.0", "rates.odom: 5", "rates.joint_states: 0", "rates.tf: 1e3", "robots: 4", "use_sim_time: false")
WORDS = (
    b"target_rtf rates.odom rates robots config fleet_sim ros__parameters -r -p --params-file __ns __node := ~ [1,2]"
)


def parameters_target() -> Target:
    """Return the target: the first line of an input says the way, `arguments`, `file` or `set`; the others are given.

    A start is refused, or what it says is sane; a value that is set is refused with a reason, or is in use.
    """
    import rclpy
    from rclpy.exceptions import NameValidationException, ParameterException
    from ros_domain import use_own_domain

    from fleet_sim.ros.node import FleetSimNode

    use_own_domain()
    rclpy.init(args=["--ros-args", "-p", "robots:=1"])
    node = FleetSimNode()
    folder = Path(tempfile.mkdtemp(prefix="fuzz_parameters_"))
    allowed = (FleetSimError, ParameterException, NameValidationException)
    # What rclpy raises for arguments that are none.
    allowed += (RuntimeError,)

    def feed(data: bytes) -> str | None:
        text = expanded(data.decode("utf-8", "replace"), str(folder))
        way, *lines = text.split("\n")
        try:
            if way == "set":
                return _set(node, lines)
            if way == "file":
                file = folder / "parameters.yaml"
                file.write_text("\n".join(lines), encoding="utf-8")
                _start(["--params-file", str(file)])
            else:
                _start([part for line in lines for part in ("-p", line)])
        except allowed as error:
            # What the operator wrote may be repeated, once.
            if isinstance(error, RecursionError) or len(str(error)) >= LONGEST + 4 * len(text):
                raise AssertionError(f"a {type(error).__name__} without an end") from error
            raise
        return None

    # The node ends with its target: it would be met by every node of the tests that follow.
    weakref.finalize(feed, _end, node)
    return Target(feed, _seeds(), WORDS.split(), allowed, _worst, mutate_share=0.3, seconds=20.0)


def _seeds() -> list[bytes]:
    seeds = ["\n".join(["arguments", one]).encode() for one in ARGUMENTS]
    seeds += [f"file\n{FILE}".encode(), "\n".join(["arguments", *ARGUMENTS[:5]]).encode()]
    return [*seeds, "\n".join(["set", *SET]).encode(), *(f"set\n{one}".encode() for one in SET)]


def _worst(data: bytes, random: Random) -> bytes:
    """Return one parameter at one of its worst values, set while the node runs or at its start."""
    if random.random() < 0.5:
        name, value = random.choice(SET).partition(": ")[0], random.choice((*NUMBERS, *TEXTS))
        return f"set\n{name}: {value}".encode()
    name, value = random.choice(ARGUMENTS).partition(":=")[0], random.choice((*NUMBERS, *TEXTS))
    return f"arguments\n{name}:={value}".encode()


def _end(node: FleetSimNode) -> None:
    import rclpy

    node.destroy_node()
    rclpy.try_shutdown()


def _start(arguments: list[str]) -> None:
    """Read the parameters of a node that is started with `arguments`."""
    import rclpy
    from rclpy.context import Context
    from rclpy.node import Node

    from fleet_sim.ros.node import NodeParameters

    context = Context()
    rclpy.init(args=["--ros-args", *arguments], context=context)
    try:
        node = Node("fleet_sim", context=context, start_parameter_services=False, enable_rosout=False)
        try:
            _check(NodeParameters(node))
        finally:
            node.destroy_node()
    finally:
        rclpy.shutdown(context=context)


def _check(found: NodeParameters) -> None:
    """Raise AssertionError where parameters were taken that say nothing that could be done."""
    assert isinstance(found.robots, int) and found.robots >= 0
    numbers = [found.simulation.target_rtf, found.client_timeout, found.simulation.timestep]
    numbers += [rate for rate in vars(found.ros.rates).values() if rate is not None]
    assert all(math.isfinite(number) and number >= 0.0 for number in numbers), numbers


def _set(node: FleetSimNode, lines: list[str]) -> str | None:
    """Set parameters as `ros2 param set` does, one a line; return how many were refused."""
    from rcl_interfaces.msg import Parameter as ParameterMessage
    from rclpy.parameter import Parameter, get_parameter_value

    refused = 0
    for line in lines:
        name, _, text = line.partition(": ")
        try:
            value = get_parameter_value(text)
        except AssertionError:
            # An integer beyond 64 bits is in no message: rclpy refuses it before anything is sent.
            refused += 1
            continue
        given = Parameter.from_parameter_msg(ParameterMessage(name=name, value=value))
        before: Any = node.get_parameter_or(name, Parameter(name))
        if not node.has_parameter(name):
            # rclpy raises for the program's own; the service answers others so.
            refused += 1
            continue
        (result,) = node.set_parameters([given])
        after: Any = node.get_parameter_or(name, Parameter(name))
        if not result.successful:
            assert result.reason and len(result.reason) < LONGEST
            assert repr(after.value) == repr(before.value)
            refused += 1
    node.simulation.step_once()
    assert math.isfinite(node.simulation.params.target_rtf) and node.simulation.guard.total == 0
    return f"refused {refused}" if refused else None
