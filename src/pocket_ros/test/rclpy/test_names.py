"""Rules for names, in the modules that rclpy has for them."""

import pickle
from importlib import import_module

import pytest

MODULES = [
    "expand_topic_name",
    "topic_or_service_is_hidden",
    "validate_full_topic_name",
    "validate_namespace",
    "validate_node_name",
    "validate_parameter_name",
    "validate_topic_name",
]


@pytest.mark.parametrize("name", MODULES)
def test_each_rule_is_in_a_module_of_its_name(name: str) -> None:
    module = import_module(f"rclpy.{name}")
    assert module is import_module(f"pocket_ros.rclpy.{name}")
    rule = getattr(module, name)
    assert name in module.__all__ and pickle.loads(pickle.dumps(rule)) is rule


@pytest.mark.parametrize("namespace", ["ns", "", "/bad//ns", "/ns/"])
def test_a_name_is_not_expanded_in_a_namespace_that_is_none(namespace: str) -> None:
    from rclpy.expand_topic_name import expand_topic_name

    with pytest.raises(ValueError, match="namespace must"):
        expand_topic_name("topic", "node", namespace)


def test_a_name_is_not_expanded_for_a_node_name_that_is_none() -> None:
    from rclpy.expand_topic_name import expand_topic_name

    with pytest.raises(ValueError, match="node name must not contain"):
        expand_topic_name("topic", "bad?", "/ns")


def test_expanded_names() -> None:
    from rclpy.expand_topic_name import expand_topic_name

    assert expand_topic_name("topic", "node", "/") == "/topic"
    assert expand_topic_name("~/topic", "node", "/ns") == "/ns/node/topic"
    assert expand_topic_name("/{node}/topic", "node", "/ns") == "/node/topic"
