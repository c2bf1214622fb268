"""What is not covered says so."""

from importlib import import_module

import pytest

# Modules of rclpy from which programs import what is defined in another one.
SECOND_PLACES = {
    "executors": ("task", ["Future", "Task"]),
    "publisher": ("type_support", ["MsgType"]),
    "qos_event": ("event_handler", ["QoSLivelinessChangedInfo", "SubscriptionEventCallbacks"]),
}
OF_NODE = {
    "callback_groups": ["CallbackGroup", "MutuallyExclusiveCallbackGroup", "ReentrantCallbackGroup"],
    "client": ["Client"],
    "exceptions": ["InvalidHandle", "ParameterNotDeclaredException", "ParameterAlreadyDeclaredException"],
    "executors": ["Executor"],
    "publisher": ["Publisher"],
    "qos": ["QoSProfile"],
    "service": ["Service"],
    "subscription": ["Subscription"],
    "timer": ["Rate", "Timer"],
}


@pytest.mark.parametrize(
    ("place", "home", "names"),
    [
        *((place, home, names) for place, (home, names) in SECOND_PLACES.items()),
        *(("node", home, names) for home, names in OF_NODE.items()),
    ],
)
def test_names_are_where_programs_import_them_from(place: str, home: str, names: list[str]) -> None:
    for name in names:
        here, there = (getattr(import_module(f"rclpy.{module}"), name) for module in (place, home))
        assert here is there


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("launch_ros.events.lifecycle", "ChangeState"),
        ("launch_ros.events.matchers", "matches_node_name"),
        ("launch_ros.event_handlers", "OnStateTransition"),
        ("launch_testing_ros", "DataRepublisher"),
    ],
)
def test_names_that_are_not_covered_say_so_when_they_are_imported(module: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{module}.{name} is not covered"):
        exec(f"from {module} import {name}")
