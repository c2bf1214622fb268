"""Managed nodes."""

from collections.abc import Iterator
from typing import Any

import pytest
import rclpy
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetAvailableStates, GetAvailableTransitions, GetState
from rclpy._rclpy_pybind11 import RCLError
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import (
    LifecycleNode,
    LifecyclePublisher,
    LifecycleState,
    SimpleManagedEntity,
    TransitionCallbackReturn,
)
from rclpy.node import Node
from std_msgs.msg import String

SUCCESS, FAILURE, ERROR = TransitionCallbackReturn


class Camera(LifecycleNode):
    """Remembers what it was asked, and answers what it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answers: dict[str, Any] = {}
        super().__init__("camera")
        self.images = self.create_lifecycle_publisher(String, "images", 10)

    def _answer(self, name: str, state: LifecycleState) -> Any:
        self.asked.append((name, state.label))
        answer = self.answers.get(name, SUCCESS)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._answer("configure", state)  # type: ignore[no-any-return]

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._answer("shutdown", state)  # type: ignore[no-any-return]

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        return self._answer("error", state)  # type: ignore[no-any-return]

    def call(self, kind: Any, name: str, **request: Any) -> Any:
        """Ask one of its services, as another node would."""
        other = Node("asking")
        executor = SingleThreadedExecutor()
        for node in (self, other):
            executor.add_node(node)
        future = other.create_client(kind, f"/camera/{name}").call_async(kind.Request(**request))
        executor.spin_until_future_complete(future, 10.0)
        executor.remove_node(self)
        other.destroy_node()
        return future.result()

    def state(self) -> tuple[int, str]:
        found = self.call(GetState, "get_state").current_state
        return found.id, found.label


@pytest.fixture
def camera(ros: None) -> Iterator[Camera]:
    node = Camera()
    yield node
    node.destroy_node()


def test_the_way_through_the_states(camera: Camera) -> None:
    assert camera.state() == (State.PRIMARY_STATE_UNCONFIGURED, "unconfigured")
    assert camera.trigger_configure() is SUCCESS
    assert camera.state() == (State.PRIMARY_STATE_INACTIVE, "inactive")
    assert camera.trigger_activate() is SUCCESS
    assert camera.state() == (State.PRIMARY_STATE_ACTIVE, "active")
    with pytest.raises(
        RCLError, match=r"'configure' in the state 'active'; possible: deactivate \[4\], shutdown \[7\]"
    ):
        camera.trigger_configure()
    assert [camera.trigger_deactivate(), camera.trigger_cleanup(), camera.trigger_shutdown()] == [SUCCESS] * 3
    assert camera.state() == (State.PRIMARY_STATE_FINALIZED, "finalized")
    with pytest.raises(RCLError, match="no transition 'shutdown' in the state 'finalized'"):
        camera.trigger_shutdown()
    assert camera.asked == [("configure", "unconfigured"), ("shutdown", "unconfigured")]


@pytest.mark.parametrize(
    ("answers", "outcome", "state"),
    [
        ({"configure": FAILURE}, FAILURE, "unconfigured"),
        ({"configure": ERROR}, ERROR, "unconfigured"),
        ({"configure": ValueError("broken lens")}, ERROR, "unconfigured"),
        ({"configure": None}, ERROR, "unconfigured"),
        ({"configure": ERROR, "error": FAILURE}, ERROR, "finalized"),
        ({"configure": ERROR, "error": ValueError("broken twice")}, ERROR, "finalized"),
    ],
)
def test_callbacks_that_do_not_agree(camera: Camera, answers: Any, outcome: Any, state: str) -> None:
    camera.answers = answers
    assert camera.trigger_configure() is outcome
    assert camera.state()[1] == state
    assert camera.asked[1:] == ([("error", "unconfigured")] if outcome is ERROR else [])


def test_others_change_and_see_the_state(camera: Camera) -> None:
    def change(**transition: Any) -> bool:
        wanted = Transition(**transition)
        return bool(camera.call(ChangeState, "change_state", transition=wanted).success)

    def transitions(name: str) -> list[tuple[int, str, str, str]]:
        found = camera.call(GetAvailableTransitions, name).available_transitions
        return [(t.transition.id, t.transition.label, t.start_state.label, t.goal_state.label) for t in found]

    assert transitions("get_available_transitions") == [
        (1, "configure", "unconfigured", "configuring"),
        (5, "shutdown", "unconfigured", "shuttingdown"),
    ]
    assert not change(id=Transition.TRANSITION_ACTIVATE) and not change(label="nonsense")
    assert change(id=Transition.TRANSITION_CONFIGURE) and change(label="activate")
    assert camera.state()[1] == "active"
    graph = transitions("get_transition_graph")
    assert len(graph) == 25 and (62, "transition_error", "errorprocessing", "finalized") in graph
    states = camera.call(GetAvailableStates, "get_available_states").available_states
    assert {s.label: s.id for s in states}["deactivating"] == State.TRANSITION_STATE_DEACTIVATING
    assert len(states) == 11


def test_each_transition_is_told(camera: Camera) -> None:
    told: list[TransitionEvent] = []
    camera.create_subscription(TransitionEvent, "~/transition_event", told.append, 10)
    camera.trigger_configure()
    while len(told) < 2:
        rclpy.spin_once(camera, timeout_sec=5.0)
    ways = [(event.start_state.label, event.transition.id, event.goal_state.label) for event in told]
    assert ways == [("unconfigured", 1, "configuring"), ("configuring", 10, "inactive")]


def test_publishers_publish_while_the_node_is_active(camera: Camera) -> None:
    heard: list[str] = []
    camera.create_subscription(String, "images", lambda message: heard.append(message.data), 10)
    assert isinstance(camera.images, LifecyclePublisher)
    camera.images.publish(String(data="unconfigured"))
    camera.trigger_configure()
    camera.trigger_activate()
    assert camera.images.is_activated
    camera.images.publish(String(data="active"))
    camera.trigger_deactivate()
    camera.images.publish(String(data="inactive"))
    camera.trigger_activate()
    camera.images.publish(String(data="again"))
    while "again" not in heard:
        rclpy.spin_once(camera, timeout_sec=5.0)
    assert heard == ["active", "again"]
    assert camera.destroy_lifecycle_publisher(camera.images)


def test_entities_are_asked_in_order_up_to_the_first_that_does_not_agree(ros: None) -> None:
    asked = []

    class Part(SimpleManagedEntity):
        def __init__(self, name: str, answer: TransitionCallbackReturn) -> None:
            super().__init__()
            self.name, self.answer = name, answer

        def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
            asked.append(self.name)
            super().on_activate(state)
            return self.answer

        @SimpleManagedEntity.when_enabled(when_not_enabled=lambda: asked.append("no"))
        def work(self) -> None:
            asked.append(f"{self.name} works")

    node = LifecycleNode("parts", enable_communication_interface=False)
    parts = [Part("a", SUCCESS), Part("b", FAILURE), Part("c", SUCCESS)]
    for part in parts:
        node.add_managed_entity(part)
    assert not [name for name, _ in node.get_service_names_and_types() if name.endswith("/change_state")]
    assert (node.trigger_configure(), node.trigger_activate()) == (SUCCESS, FAILURE)
    parts[0].work()
    parts[2].work()
    assert asked == ["a", "b", "a works", "no"]
