"""`ros2cli` and its commands as libraries, and what other packages add to `ros2`."""

import threading
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import PointStamped
from rclpy.qos import DurabilityPolicy, HistoryPolicy, qos_profile_sensor_data
from ros2action.api import get_action_clients_and_servers, get_action_names_and_types
from ros2cli.helpers import unsigned_int, wait_for
from ros2cli.node.daemon import is_daemon_running
from ros2cli.node.direct import DirectNode
from ros2cli.node.strategy import NodeStrategy, add_arguments
from ros2cli.plugin_system import PluginException, satisfies_version
from ros2interface.api import interface_to_yaml
from ros2lifecycle.api import get_node_names as get_lifecycle_node_names
from ros2multicast.api import receive, send
from ros2node.api import (
    get_action_server_info,
    get_node_names,
    get_publisher_info,
    get_service_server_info,
    get_subscriber_info,
    parse_node_name,
    wait_for_node,
)
from ros2param.api import call_get_parameters, call_list_parameters, call_set_parameters, get_value
from ros2pkg.api import PackageNotFound, get_executable_paths, get_prefix_path
from ros2run.api import get_executable_path
from ros2service.api import ServiceNameCompleter, get_service_class
from ros2topic.api import (
    TopicNameCompleter,
    get_msg_class,
    get_topic_names_and_types,
    profile_configure_short_keys,
    qos_profile_from_short_keys,
)

POINT = "geometry_msgs/msg/PointStamped"
ROBOT = "/fleet/robot"


def test_the_graph_is_seen_through_the_node_of_a_command(robot: Any) -> None:
    parser = ArgumentParser()
    add_arguments(parser)
    args = parser.parse_args(["--spin-time", "0.3"])
    with NodeStrategy(args) as node:
        assert wait_for_node(node, ROBOT, timeout=10)
        assert ROBOT in [found.full_name for found in get_node_names(node=node)]
        assert ("/fleet/point", [POINT]) in get_topic_names_and_types(node=node)
        assert get_msg_class(node, "/fleet/point") is PointStamped
        assert get_msg_class(node, "/fleet/nothing") is None
        assert get_service_class(node, "/fleet/add").__name__ == "AddTwoInts"
        assert ("/fleet/count", ["example_interfaces/action/Fibonacci"]) in get_action_names_and_types(
            node=node
        )
        clients, servers = get_action_clients_and_servers(node=node, action_name="/fleet/count")
        assert (clients, servers) == ([], [(ROBOT, ["example_interfaces/action/Fibonacci"])])
        of: Any = {"node": node, "remote_node_name": ROBOT}
        assert ("/fleet/point", [POINT]) in get_publisher_info(**of)
        assert get_subscriber_info(**of) == [("/fleet/say", ["std_msgs/msg/String"])]
        assert "/fleet/add" in [service.name for service in get_service_server_info(**of)]
        assert [action.name for action in get_action_server_info(**of)] == ["/fleet/count"]
        assert get_lifecycle_node_names(node=node) == []
        assert node.direct_node is node and node.daemon_node is None and not is_daemon_running(args)
    with pytest.raises(AttributeError, match="only inside of the block"):
        DirectNode(args).get_name()
    assert "/fleet/point" in TopicNameCompleter()("/fl", args)
    assert "/fleet/add" in ServiceNameCompleter(include_hidden_services_key="absent")("", args)


def test_the_parameters_of_another_node(robot: Any) -> None:
    from rclpy.parameter import Parameter

    with NodeStrategy(None) as node:
        of: Any = {"node": node, "node_name": ROBOT}
        assert {"rate", "names", "arm.ready"} <= set(call_list_parameters(**of).result().result.names)
        response = call_get_parameters(**of, parameter_names=["rate", "names"])
        assert [get_value(parameter_value=value) for value in response.values] == [2.5, ["a", "b"]]
        wrong = Parameter("rate", value="fast").to_parameter_msg()
        assert not call_set_parameters(**of, parameters=[wrong]).results[0].successful


def test_profiles_from_short_keys() -> None:
    profile = qos_profile_from_short_keys("sensor_data", durability="transient_local", depth=7)
    assert (profile.durability, profile.depth) == (DurabilityPolicy.TRANSIENT_LOCAL, 7)
    profile_configure_short_keys(profile, history="keep_all", depth=-1)
    assert (profile.history, profile.depth) == (HistoryPolicy.KEEP_ALL, 7)
    assert qos_profile_sensor_data.depth == 5


def test_packages_interfaces_and_small_helpers() -> None:
    assert parse_node_name("fleet/robot") == ("robot", "/fleet", ROBOT)
    assert get_prefix_path("no_such_package") is None
    with pytest.raises(PackageNotFound, match="'no_such_package' not found"):
        get_executable_paths(package_name="no_such_package")
    assert str(get_executable_path(package_name="tf2_ros", executable_name="tf2_echo")).endswith("tf2_echo")
    assert interface_to_yaml("std_srvs/srv/SetBool") == "data: false\n"
    assert wait_for(lambda: True, 0) and not wait_for(lambda: False, 0.01)
    assert unsigned_int("3") == 3
    with pytest.raises(ArgumentTypeError):
        unsigned_int("-3")
    satisfies_version("0.1.5", "^0.1")
    with pytest.raises(PluginException):
        satisfies_version("0.2", "^0.1")


def test_a_packet_by_multicast_arrives() -> None:
    got: list[Any] = []
    group, port = "225.0.0.71", 49171
    stop = threading.Event()

    def listen() -> None:
        try:
            got.append(receive(group=group, port=port, timeout=20))
        finally:
            stop.set()

    listening = threading.Thread(target=listen)
    listening.start()
    try:
        while not stop.wait(0.05):
            send(b"hello", group=group, port=port, ttl=1)
    except OSError as error:
        pytest.skip(f"no multicast on this machine: {error}")
    finally:
        listening.join()
    assert got[0][0] == b"hello"


EXTENSION = '''
from ros2cli.command import CommandExtension, add_subparsers_on_demand
from ros2topic.verb import VerbExtension


class Greet(CommandExtension):
    """Greet somebody."""

    def add_arguments(self, parser, cli_name, *, argv=None):
        parser.add_argument("whom")

    def main(self, *, parser, args):
        print(f"hello {args.whom}")
        return 3


class Tools(CommandExtension):
    """A command with verbs."""

    def add_arguments(self, parser, cli_name, *, argv=None):
        add_subparsers_on_demand(parser, f"{cli_name} tools", "_verb", "tools.verb", required=False)

    def main(self, *, parser, args):
        return args._verb.main(args=args)


class Shout(VerbExtension):
    """Shout a topic."""

    def add_arguments(self, parser, cli_name):
        parser.add_argument("topic")

    def main(self, *, args):
        print(args.topic.upper())
'''
ENTRY_POINTS = """[ros2cli.command]
greet = greeter:Greet
tools = greeter:Tools
[tools.verb]
shout = greeter:Shout
[ros2topic.verb]
shout = greeter:Shout
broken = greeter:Absent
"""


def test_commands_and_verbs_of_other_packages(tmp_path: Path, ros2: Any, monkeypatch: Any) -> None:
    (tmp_path / "greeter.py").write_text(EXTENSION)
    info = tmp_path / "greeter-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    greeted = ros2("greet", "you")
    assert (greeted.stdout, greeted.returncode) == ("hello you\n", 3)
    assert ros2("topic", "shout", "/chatter").stdout == "/CHATTER\n"
    assert ros2("tools", "shout", "/chatter").stdout == "/CHATTER\n"
    helped = ros2("topic", "--help")
    assert "Shout a topic" in helped.stdout and "Failed to load 'broken'" in helped.stderr
    assert "invalid choice: 'nothing'" in ros2("nothing").stderr


@pytest.mark.parametrize(("module", "name"), [("ros2component.api", "run_standalone_container")])
def test_what_is_not_covered_says_so(module: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{module}.{name} is not covered"):
        exec(f"from {module} import {name}", {})


def test_interfaces_by_kind_and_as_prototypes(ros2: Any) -> None:
    assert ros2("interface", "package", "-m", "std_srvs").stdout == ""
    assert "std_srvs/srv/Empty" in ros2("interface", "package", "-s", "std_srvs").stdout
    packages = ros2("interface", "packages", "--only-srvs").stdout.split()
    assert "std_srvs" in packages and "std_msgs" not in packages
    assert ros2("interface", "proto", "std_msgs/msg/Int32").stdout == '"data: 0\n"\n'
