"""Interfaces and actions of ROS: ours in their order, and those of others after them."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from functools import partial, partialmethod
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import Twist, Vector3
from hosted_node import hosted_node, until
from nav_msgs.msg import Odometry
from rclpy._rclpy_pybind11 import RCLError
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

import fleet_sim as fs
import fleet_sim.ros
import fleet_sim.ros.node as node_module
import fleet_sim.warehouse
from fleet_sim.ros.action_kinds import ACTION_SETS, KINDS, PICK, ActionInterface, built_in
from fleet_sim.ros.actions import ActionKind, Goals, SimulatedActionServer
from fleet_sim.ros.interface import Endpoints, Interface, Lacking
from fleet_sim.ros.launching import NS, lines_to_try, misspelled
from fleet_sim.ros.main import main, unknown_parameters
from fleet_sim.ros.messages import Roster, TopicNode
from fleet_sim.ros.node import INTERFACES, FleetSimNode, in_order
from fleet_sim.ros.tf import ClockTopic
from fleet_sim.world.inbox import SHARE
from fleet_sim_msgs.action import MoveTo

Capture = pytest.CaptureFixture[str]
NUMBERS = itertools.count()


class Buttons(Interface):
    """Stops the fleet when it is told to, as a third party's interface would."""

    calls: list[str] = []  # noqa: RUF012

    def on_fleet_changed(self, roster: Roster) -> None:
        self.calls.append(f"fleet {roster.names}")

    def receive(self) -> None:
        self.bridge.gateway.take("buttons", lambda: fs.Stop(source="buttons"))

    def publish(self, now: int) -> None:
        self.calls.append(f"publish {now}")

    def on_reset(self) -> None:
        self.calls.append("reset")


@pytest.fixture
def node() -> Iterator[FleetSimNode]:
    """A node with one robot, an interface and an action of somebody else's."""
    Buttons.calls.clear()
    INTERFACES.register("buttons", Buttons)
    KINDS.register("dance", replace(KINDS["move_to"], name="dance"))
    try:
        # Nodes that other tests have left are still known to the middleware for a while.
        with hosted_node("-p", "robots:=1", "-r", f"__node:=node_{next(NUMBERS)}") as made:
            yield made
    finally:
        INTERFACES.unregister("buttons")
        KINDS.unregister("dance")


def test_the_node_itself_has_the_topics_of_robots_of_which_an_executor_sees_none(node: FleetSimNode) -> None:
    name, robot = node.get_name(), node.simulation.agents[0].name
    published = dict(node.get_publisher_names_and_types_by_node(name, "/"))
    subscribed = dict(node.get_subscriber_names_and_types_by_node(name, "/"))
    assert published[f"/{robot}/odom"] == ["nav_msgs/msg/Odometry"] and "/fleet/states" in published
    assert f"/{robot}/cmd_vel" in subscribed and "/fleet/command" in subscribed
    assert [one for one in node.get_node_names() if name in one] == [name]
    seen = {subscription.topic_name for subscription in node.subscriptions}
    assert "/fleet/command" in seen and not [topic for topic in seen if topic.startswith(f"/{robot}/")]
    # Nor the events of each topic, of which there are two by default.
    assert len(list(node.waitables)) < len(published)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the middleware refuse publishers: of topics that end as those put into the list."""
    refused, make = ["robot_2/odom", "robot_3/odom", "robot_3/plan"], TopicNode.create_publisher

    def create(self: TopicNode, kind: type, topic: str, *arguments: object, **more: object) -> object:
        if topic.endswith(tuple(refused)):
            raise RCLError("Failed to create publisher:\n out of resources")
        return make(self, kind, topic, *arguments, **more)

    monkeypatch.setattr(TopicNode, "create_publisher", create)
    return refused


LACKING = (
    "the middleware refuses endpoints: 2 of 4 robots lack odom ('robot_2' first): Failed to create publisher: out of "
    "resources; 1 of 4 robots lack plan ('robot_3' first): Failed to create publisher: out of resources"
)


def test_a_node_that_cannot_serve_all_robots_ends_and_says_why(
    refusing: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--ros-args", "-p", "robots:=4"]) == 1
    shown = capsys.readouterr().err
    assert LACKING in shown and shown.count("\n") == 1 and "-p incomplete:=true" in shown
    # What it cannot be without.
    refusing.append("fleet/states")
    assert main(["--ros-args", "-p", "robots:=1"]) == 1
    assert capsys.readouterr().err == "fleet_sim_node: error: Failed to create publisher:\n out of resources\n"


def test_what_one_context_has_no_room_for_is_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with the Cyclone DDS of Jazzy, of which a participant has room for 16,383 endpoints and topics."""
    makers = (TopicNode, "create_publisher"), (TopicNode, "poll"), (SimulatedActionServer, "__init__")

    def limited(make: Callable[..., object], *arguments: Any, **more: object) -> object:
        node = next(one for one in arguments if isinstance(one, TopicNode))
        if isinstance(node, FleetSimNode) and any(str(one).startswith("robot_") for one in arguments):
            raise RCLError("out of resources")
        return make(*arguments, **more)

    for owner, name in makers:
        monkeypatch.setattr(owner, name, partialmethod(partial(limited, getattr(owner, name))))
    remaps = "__node:=full", "__ns:=/hall", "robot_0/cmd_vel:=robot_0/velocity"
    with hosted_node("-p", "robots:=1", *(part for remap in remaps for part in ("-r", remap))) as made:
        executor, peer = SingleThreadedExecutor(), Node("peer", namespace="/hall", use_global_arguments=False)
        for node in (made, peer):
            executor.add_node(node)
        turns = made.simulation.step_once, lambda: executor.spin_once(0.01)

        def topics(name: str) -> dict[str, list[str]]:
            known = (name, "/hall") in peer.get_node_names_and_namespaces()
            return dict(peer.get_publisher_names_and_types_by_node(name, "/hall")) if known else {}

        until(lambda: "/hall/fleet/states" in topics("full") and "/hall/robot_0/odom" in topics("full_2"), *turns)
        assert not [topic for topic in topics("full") if topic.startswith("/hall/robot_0/")]
        odometry: list[Odometry] = []
        peer.create_subscription(Odometry, "robot_0/odom", odometry.append, 10)
        twists = peer.create_publisher(Twist, "robot_0/velocity", 10)
        until(twists.get_subscription_count, *turns)
        twists.publish(Twist(linear=Vector3(x=0.5)))
        until(lambda: odometry and odometry[-1].twist.twist.linear.x == 0.5, *turns)
        client = ActionClient(peer, MoveTo, "robot_0/move_to")
        until(client.server_is_ready, *turns)
        goal = MoveTo.Goal()
        goal.pose.pose.position.x, goal.pose.pose.orientation.w = odometry[-1].pose.pose.position.x + 0.5, 1.0
        sent = client.send_goal_async(goal)
        until(sent.done, *turns)
        ended = sent.result().get_result_async()
        until(ended.done, *turns)
        assert ended.result().result.success
        made.simulation.remove_object(made.simulation.get_object("robot_0"))
        until(lambda: not peer.count_publishers("/hall/robot_0/odom"), *turns)
        executor.shutdown()
        peer.destroy_node()


def test_a_further_node_that_is_refused_is_tried_once(monkeypatch: pytest.MonkeyPatch, node: FleetSimNode) -> None:
    made: list[Context] = []

    def refused(*arguments: object, context: Context, **more: object) -> None:
        made.append(context)
        raise RCLError("no participant")

    def make(one: TopicNode) -> None:
        raise RCLError("out of resources")

    monkeypatch.setattr(TopicNode, "__init__", refused)
    for reason in ("no participant", "out of resources", "out of resources"):
        with pytest.raises(RCLError, match=reason):
            node.with_room(make)
    assert [context.ok() for context in made] == [False]


def test_it_goes_on_without_what_is_refused_where_that_is_asked_for(
    refusing: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with hosted_node("-p", "robots:=4", "-p", "incomplete:=true", "-r", "__node:=incomplete") as made:
        assert LACKING in capfd.readouterr().err
        topics = {topic for topic, _ in made.get_publisher_names_and_types_by_node(made.get_name(), "/")}
        assert {"/robot_1/odom", "/robot_2/plan"} <= topics and "/robot_2/odom" not in topics
        made.simulation.step_once()
        assert not capfd.readouterr().err, "once"
        refusing.clear()
        made.simulation.population.spawn_robots([{"name": "later"}])
        # A step makes a portion of what is to be made.
        for _ in range(200):
            made.simulation.step_once()
            topics = {topic for topic, _ in made.get_publisher_names_and_types_by_node(made.get_name(), "/")}
            if {"/later/odom", "/robot_2/odom", "/robot_3/plan"} <= topics:
                break
        else:
            raise AssertionError(topics)


@pytest.mark.parametrize(
    ("middleware", "groups", "announced"),
    [
        ("rmw_fastrtps_cpp", "commands, actions", True),
        ("rmw_fastrtps_cpp", "commands", False),
        ("rmw_cyclonedds_cpp", "commands, actions", False),
    ],
)
def test_a_start_that_takes_long_on_fast_dds_is_announced(
    middleware: str,
    groups: str,
    announced: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(node_module, "get_rmw_implementation_identifier", lambda: middleware)
    # Two of them would not take as long.
    monkeypatch.setattr(node_module, "LONG_START", 0.004)
    (tmp_path / "three.yaml").write_text(f"ros: {{groups: [{groups}]}}")
    arguments = ["-p", f"config:={tmp_path / 'three.yaml'}", "-p", "robots:=3", "-r", "__node:=announcing"]
    with hosted_node(*arguments):
        pass
    assert ("3 robots have actions of their own. Faster: RMW" in capfd.readouterr().err) == announced


class Executed:
    """What endpoints of a run of 6 robots see of a node; making one takes all the time that there is in a step."""

    def __init__(self, refuse: Collection[str] = ()) -> None:
        self.posted: list[Callable[[], object]] = []
        self.tried: list[str] = []
        self.refuse = refuse
        self.unfinished = Event()
        self.lacking = Lacking()
        self.sim = SimpleNamespace(is_running=True)
        self.params = SimpleNamespace(has_own=lambda name, group: True)
        self.mailbox = SimpleNamespace(post=self.posted.append)

    def make(self, name: str) -> str:
        begin = time.thread_time()
        while time.thread_time() - begin < 1.2 * SHARE:
            pass
        self.tried.append(name)
        if name in self.refuse:
            raise RCLError("out of resources")
        return name


def robots(version: int, count: int = 6) -> Roster:
    names = tuple(f"robot_{number}" for number in range(count))
    return Roster(version, np.arange(count), names, frozenset(names))


def endpoints(bridge: Any) -> Endpoints:
    return Endpoints(bridge, "state", bridge.make, lambda item: None)


def test_services_that_follow_the_fleet_wait_in_the_executor_once() -> None:
    bridge = Executed()
    services = endpoints(bridge)
    for version in range(3):
        services.follow(robots(version))
    assert len(bridge.posted) == 1, "not once for each change"
    turns = 0
    while bridge.posted:
        bridge.posted.pop()()
        turns += 1
        assert len(bridge.posted) <= 1
    assert services.names == list(robots(0).names) and turns == 5
    services.follow(robots(3, 7))
    assert services.names[-1] == "robot_6"


def test_what_is_refused_takes_no_time_from_others_and_ends() -> None:
    bridge = Executed(refuse=["robot_0", "robot_1"])
    topics = endpoints(bridge)
    for _ in range(20):
        bridge.unfinished.clear()
        topics.on_fleet_changed(robots(1))
        if not bridge.unfinished.is_set():
            break
    assert bridge.tried == list(robots(1).names), "each once"
    bridge.refuse, bridge.tried = (), []
    for _ in range(3):
        topics.on_fleet_changed(robots(2, 7))
    assert bridge.tried == ["robot_6", "robot_0", "robot_1"], "again after a change, after all others"


def test_a_node_ends_where_a_robot_that_comes_later_is_refused_an_interface(refusing: list[str]) -> None:
    refusing.append("later/plan")
    with hosted_node("-p", "robots:=1") as made:
        made.simulation.population.spawn_robots([{"name": "later"}])
        with pytest.raises(fs.StateError, match="1 of 2 robots lack plan"):
            made.simulation.step_once()


def test_what_others_add_comes_after_ours(node: FleetSimNode) -> None:
    order = in_order()
    ours = [place for place, kind in enumerate(order) if kind.__module__.startswith("fleet_sim.ros.")]
    # Those of features, which are entry points, come after ours too.
    assert order[0] is ClockTopic and order.index(Buttons) > max(ours)
    with pytest.raises(fs.InvalidValueError, match="a class derived from Interface"):
        INTERFACES.register("nonsense", int)  # type: ignore[type-var]


def test_an_interface_of_others_is_one_of_the_node(node: FleetSimNode) -> None:
    sim = node.simulation
    log = fs.record_commands(sim)
    sim.step_once()
    assert Buttons.calls[:2] == ["fleet ('robot_0',)", "publish 0"]
    assert [(type(entry.command), entry.command.source, entry.tick) for entry in log.entries] == [
        (fs.Stop, "buttons", 0)
    ], "what an interface takes is applied in the same step"
    sim.inbox.put(fs.Reset())
    sim.step_once()
    assert "reset" in Buttons.calls


def test_an_action_of_others_is_served_for_the_fleet_and_each_robot(node: FleetSimNode) -> None:
    served = {name for name, _ in node.get_service_names_and_types_by_node(node.get_name(), "/")}
    assert {"/fleet/dance/_action/send_goal", "/robot_0/dance/_action/send_goal"} <= served


def test_an_action_set_does_not_replace_an_action_of_the_same_name() -> None:
    def again() -> dict[str, ActionKind]:
        return {"pick": replace(PICK)}

    ACTION_SETS.register("again")(again)
    try:
        with pytest.raises(fs.DuplicateNameError, match="the ROS action 'pick' exists already"):
            built_in()
    finally:
        ACTION_SETS.unregister("again")


def derived(cls: type) -> set[type]:
    return set().union({cls}, *map(derived, cls.__subclasses__()))


def test_every_interface_and_action_of_ours_is_listed() -> None:
    kinds = []
    packages = (fleet_sim.ros, fleet_sim.warehouse)
    for info in (one for made in packages for one in pkgutil.walk_packages(made.__path__, f"{made.__name__}.")):
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:
            # Those of packages that are not installed; all of ours are there.
            if error.name is None or error.name.startswith("fleet_sim"):
                raise
            continue
        kinds += [value for value in vars(module).values() if isinstance(value, ActionKind)]
    assert {kind.name for kind in kinds} == set(KINDS.registered())
    listed = set(INTERFACES.all().values())
    ours = {cls for cls in derived(Interface) if cls.__module__.startswith("fleet_sim.")}
    bases = {base for cls in ours for base in cls.__mro__[1:]}
    # The node itself makes the one that serves all kinds of actions.
    assert ours - bases - {ActionInterface} == listed


# ---- The interface package: its list of files is complete, and every definition can be read --------------------------


ROOT = Path(__file__).parents[2] / "src" / "fleet_sim_msgs"
FILES = sorted(
    path.relative_to(ROOT).as_posix() for kind in ("msg", "srv", "action") for path in (ROOT / kind).iterdir()
)


def test_cmake_generates_every_definition() -> None:
    listed = re.findall(r"^  ((?:msg|srv|action)/\S+)$", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == FILES


@pytest.mark.parametrize("file", FILES)
def test_a_definition_becomes_a_class(file: str) -> None:
    pytest.importorskip("rclpy")
    kind, name = file.split("/")
    made = getattr(importlib.import_module(f"fleet_sim_msgs.{kind}"), name.split(".")[0])
    assert made.__name__ == name.split(".")[0]


# ---- What the node and its launch files say to who begins ------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reason"), [("robots:=abc", "expecting type 'INTEGER'"), ("robots:=-1", "at least 0")]
)
def test_a_wrong_parameter_is_one_line_and_no_traceback(given: str, reason: str) -> None:
    program = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", given]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    (line,) = [text for text in done.stderr.splitlines() if "error" in text]
    assert line.startswith("fleet_sim_node: error: ")
    assert reason in line
    assert "Traceback" not in done.stderr


def test_parameters_and_arguments_that_do_not_exist_are_named() -> None:
    known = {"config", "robots", "use_sim_time"}.__contains__
    arguments = [
        "--ros-args",
        "-p",
        "configg:=a.yaml",
        "-p",
        "robots:=3",
        "--param",
        "fleet_sim:rbots:=1",
        "-r",
        "__ns:=/a",
    ]
    assert unknown_parameters(arguments, known) == ["configg", "rbots"]
    assert misspelled(["robts", "rtf", "map_of_another_file"], ["robots", "rtf"]) == [
        "there is no argument 'robts'; did you mean 'robots'?"
    ]


def test_commands_to_try_name_only_robots_that_are_spawned() -> None:
    lines = ["try:", f"echo {NS}/robot_0/odom", f"echo {NS}/robot_1/odom", f"call {NS}/sim/pause"]
    everything = ["try:", "echo /left/robot_0/odom", "echo /left/robot_1/odom", "call /left/sim/pause"]
    assert lines_to_try(lines, "/left", "5") == everything
    assert lines_to_try(lines, "", "1") == ["try:", "echo /robot_0/odom", "call /sim/pause"]
    assert lines_to_try(lines, "", "0") == ["try:", "call /sim/pause"]
    assert len(lines_to_try(lines, "", "")) == 4


def test_the_node_finds_code_in_the_folder_where_it_is_run(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("print('mine was imported')\nfrom fleet_sim import AgentController as Circles\n")
    robot = "{name: own, pose: [0, 0, 0], shape: {shape_type: sphere, radius: 0.2}, controller: {type: 'mine:Circles'}}"
    (tmp_path / "s.yaml").write_text(f"simulation: {{gui: false, duration: 0.1}}\nrobots: [{robot}]\n")
    # The script of an installation, unlike `python -m`, has its own folder on the path and not the working one.
    code = "import sys; sys.path.pop(0); from fleet_sim.ros.main import main; sys.exit(main())"
    program = [sys.executable, "-c", code, "--ros-args", "-p", "config:=s.yaml"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert "mine was imported" in done.stdout, done.stderr
    assert "cannot be imported" not in done.stderr


def test_the_node_says_that_and_why_it_ends_by_itself(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("simulation: {gui: false, duration: 0.5, timestep: 0.1, target_rtf: 0}\n")
    program = [sys.executable, "-m", "fleet_sim.ros.main", "--ros-args", "-p", f"config:={tmp_path / 's.yaml'}"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    told = done.stdout + done.stderr
    assert "the run ends at 0.5 s (simulation.duration of the scenario; 0: only Ctrl-C ends it)" in told
    assert "the simulation.duration of the scenario is over" in told


def rclpy_is_of_pocket_ros() -> bool:
    """Whether rclpy is pocket_ros'; pocket_ros may be installed beside a full ROS 2, which then comes first."""
    spec = find_spec("rclpy")
    return spec is not None and "pocket_ros" in str(spec.origin)


def test_no_ros_is_one_line_that_says_what_to_do() -> None:
    program = "import sys; sys.modules['rclpy'] = None; from fleet_sim.ros.main import main; sys.exit(main([]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("fleet_sim_node: error: there is no ROS 2 here") and "fleet_sim[pocket]" in line


@pytest.mark.skipif(not rclpy_is_of_pocket_ros(), reason="a full ROS 2 has security")
def test_security_that_pocket_ros_has_not_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    program = [sys.executable, "-m", "fleet_sim.ros.main"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("fleet_sim_node: error: ROS_SECURITY_ENABLE=true: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("count", [0, 2])
def test_goals_have_ended_when_the_last_one_has_its_result_and_not_before(count: int) -> None:
    ended, posted, finishing = Event(), list[Callable[[], object]](), list[Callable[[], object]]()
    bridge: Any = SimpleNamespace(
        sim=SimpleNamespace(events=SimpleNamespace(on=lambda *_: None)),
        gateway=SimpleNamespace(send=lambda _: Future()),
        mailbox=SimpleNamespace(post=posted.append),
        node=SimpleNamespace(executor=SimpleNamespace(create_task=lambda call, *given: call(*given))),
    )
    server: Any = SimpleNamespace(
        changing_state=nullcontext,
        kind=SimpleNamespace(result=lambda outcome: outcome),
        finish=lambda handle, result: finishing.append(partial(result, handle)),
    )
    goals = Goals(bridge)
    for number in range(count):
        id_ = SimpleNamespace(uuid=bytes([number] * 16))
        handle = SimpleNamespace(goal_id=id_, request=None, execute=lambda: None, abort=lambda: None)
        goals.accept("robot", server, handle, None)
    goals.end_all(ended)
    for finish in finishing:
        assert not posted
        finish()
    assert len(finishing) == count and not ended.is_set()
    (tell,) = posted
    tell()
    assert ended.is_set() and not goals.open
