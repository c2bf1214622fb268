"""Managed nodes that a launch leads through their states, and the ROS node of a launch."""

import sys
from pathlib import Path

import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import EmitEvent, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.frontend import Parser
from launch_ros.actions import LifecycleNode, LifecycleTransition, Node, ROSTimer, SetUseSimTime
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState, StateTransition, matches_node_name
from launch_ros.ros_adapters import get_ros_adapter, get_ros_node
from launch_ros.utilities import (
    add_node_name,
    evaluate_parameters,
    get_node_name_count,
    normalize_parameters,
    normalize_remap_rule,
    to_parameters_list,
)
from lifecycle_msgs.msg import Transition

MANAGED = Path(__file__).parents[1] / "programs" / "managed.py"
NODE = {"executable": sys.executable, "arguments": [str(MANAGED)], "name": "managed", "namespace": "/fleet"}


def run(*entities: object) -> int:
    service = LaunchService(noninteractive=True)
    service.include_launch_description(LaunchDescription(list(entities)))  # type: ignore[arg-type]
    return service.run()


def test_a_launch_configures_a_managed_node_and_hears_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    node = LifecycleNode(**NODE)
    seen: list[StateTransition] = []

    def remember(context: LaunchContext) -> list[Shutdown] | None:
        seen.append(context.locals.event)
        return [Shutdown()] if context.locals.event.goal_state == "unconfigured" else None

    listener = OnStateTransition(
        target_lifecycle_node=node, entities=[OpaqueFunction(function=remember)], start_state=None
    )
    is_here = {"lifecycle_node_matcher": matches_node_name("/fleet/managed")}
    clean = EmitEvent(event=ChangeState(**is_here, transition_id=Transition.TRANSITION_CLEANUP))
    refused = OnStateTransition(start_state="activating", goal_state="inactive", entities=[clean])
    lead = LifecycleTransition(
        lifecycle_node_names=["/fleet/managed"], transition_ids=[1, str(Transition.TRANSITION_ACTIVATE), 4]
    )
    assert run(RegisterEventHandler(listener), RegisterEventHandler(refused), node, lead) == 0
    assert [event.goal_state for event in seen] == [
        "configuring",
        "inactive",
        "activating",
        "inactive",  # the program does not let itself be activated
        "cleaningup",
        "unconfigured",
    ]
    assert seen[1].action is node and seen[1].transition == "transition_success"
    said = capsys.readouterr().out
    assert "TRANSITION_ACTIVATE led to 'inactive', not to 'active'; 1 further ones are left out" in said
    assert "Failed to make transition 'TRANSITION_ACTIVATE' for LifecycleNode '/fleet/managed'" in said


def test_a_launch_ends_while_a_node_is_asked_that_never_answers() -> None:
    quiet = {**NODE, "arguments": ["-c", "import signal; signal.sigwait([signal.SIGINT])"]}
    lead = LifecycleTransition(lifecycle_node_names=["fleet/managed"], transition_ids=[1])
    assert run(LifecycleNode(**quiet), lead, ROSTimer(period=0.2, actions=[Shutdown()])) == 0


def test_transitions_that_cannot_be_asked_for_are_refused() -> None:
    with pytest.raises(ValueError, match="1: TRANSITION_CONFIGURE"):
        ChangeState(lifecycle_node_matcher=lambda _: True, transition_id=97)
    with pytest.raises(ValueError, match="No transition_ids"):
        LifecycleTransition(lifecycle_node_names=["a"], transition_ids=[])
    with pytest.raises(ValueError, match="one of 1, 2, 3, 4, 5, 6, 7; got 'on'"):
        LifecycleTransition(lifecycle_node_names=["a"], transition_ids=["on"]).execute(LaunchContext())
    with pytest.raises(RuntimeError, match="requires a 'LifecycleNode'"):
        OnStateTransition(target_lifecycle_node=Node(executable="a"), entities=[])  # type: ignore[arg-type]


def test_the_node_of_a_launch_lives_as_long_as_the_launch() -> None:
    found: list[object] = []

    def look(context: LaunchContext) -> None:
        adapter = get_ros_adapter(context)
        found.extend([adapter, get_ros_node(context).get_name(), adapter is get_ros_adapter(context)])

    assert run(OpaqueFunction(function=look)) == 0
    adapter, name, same = found
    assert same and name.startswith("launch_ros_")
    assert not adapter.ros_context.ok()
    with pytest.raises(RuntimeError, match="not running"):
        adapter.shutdown()


def test_a_timer_of_simulated_time_waits_for_the_clock(tmp_path: Path) -> None:
    import rclpy
    from rosgraph_msgs.msg import Clock

    fired: list[int] = []
    late = ROSTimer(period=1000.0, actions=[OpaqueFunction(function=lambda _: fired.append(1)), Shutdown()])

    def tick(context: LaunchContext) -> None:
        node = get_ros_node(context)
        publisher = node.create_publisher(Clock, "/clock", 10)
        seconds = iter(range(1, 10**9, 600))
        node.create_timer(
            0.05,
            lambda: publisher.publish(Clock(clock=rclpy.time.Time(seconds=next(seconds)).to_msg())),
            clock=rclpy.clock.Clock(),
        )

    assert run(OpaqueFunction(function=tick), late, SetUseSimTime(True)) == 0
    assert fired == [1]


def test_the_timer_has_a_tag(tmp_path: Path) -> None:
    (tmp_path / "a.launch.xml").write_text(
        '<launch><ros_timer period="2"><log message="a"/></ros_timer></launch>'
    )
    root, parser = Parser.load(tmp_path / "a.launch.xml")
    (timer,) = parser.parse_description(root).entities
    assert isinstance(timer, ROSTimer) and timer.period == 2.0


def test_utilities(tmp_path: Path) -> None:
    context = LaunchContext()
    assert get_node_name_count(context, "/a") == 0
    add_node_name(context, "/a")
    add_node_name(context, "/a")
    assert get_node_name_count(context, "/a") == 2
    assert [part[0].perform(context) for part in normalize_remap_rule(("a", "b"))] == ["a", "b"]
    with pytest.raises(TypeError, match="as a pair"):
        normalize_remap_rule(("a",))
    (tmp_path / "p.yaml").write_text(
        "/**: {ros__parameters: {rate: 1, gain: {p: 2.0}}}\nfleet: {r1: {ros__parameters: {rate: 5}}}\n"
    )
    given = normalize_parameters([tmp_path / "p.yaml", {"names": ["a", "b"], "arm": {"ready": True}}])
    parameters = to_parameters_list(context, "r1", "/fleet", evaluate_parameters(context, given))
    assert {parameter.name: parameter.value for parameter in parameters} == {
        "rate": 5,
        "gain.p": 2.0,
        "names": ["a", "b"],
        "arm.ready": True,
    }
