"""QoS profiles, compatibility and events."""

from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    InvalidQoSProfileException,
    LivelinessPolicy,
    QoSCompatibility,
    QoSPolicyKind,
    QoSPresetProfiles,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
    qos_profile_sensor_data,
)
from rclpy.qos_overriding_options import InvalidQosOverridesError, QosCallbackResult, QoSOverridingOptions
from std_msgs.msg import String


def test_profiles() -> None:
    profile = QoSProfile(depth=3, reliability=ReliabilityPolicy.BEST_EFFORT)
    assert (profile.history, profile.depth) == (HistoryPolicy.KEEP_LAST, 3)
    assert profile == QoSProfile(depth=3, reliability=ReliabilityPolicy.BEST_EFFORT) != QoSProfile(depth=3)
    assert QoSPresetProfiles.get_from_short_key("sensor_data") == qos_profile_sensor_data
    assert ReliabilityPolicy.get_from_short_key("reliable") == ReliabilityPolicy.RELIABLE
    assert ReliabilityPolicy.RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT is ReliabilityPolicy.BEST_EFFORT
    assert "reliable" in ReliabilityPolicy.short_keys()
    assert not any("rmw" in key for key in ReliabilityPolicy.short_keys())
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile()
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile(history=HistoryPolicy.KEEP_LAST)
    with pytest.raises(AssertionError, match="reliabilty"):
        QoSProfile(depth=1, reliabilty=ReliabilityPolicy.RELIABLE)


def test_compatibility() -> None:
    reliable, best = QoSProfile(depth=1), qos_profile_sensor_data
    automatic = QoSProfile(depth=1, liveliness=LivelinessPolicy.AUTOMATIC)
    assert qos_check_compatible(automatic, automatic) == (QoSCompatibility.OK, "")
    # Profiles leave the liveliness to the middleware where nothing is said of it.
    text = "WARNING: Publisher liveliness is system_default and subscription liveliness is system_default;"
    assert qos_check_compatible(reliable, best) == (QoSCompatibility.WARNING, text)
    verdict, reason = qos_check_compatible(best, reliable)
    assert verdict == QoSCompatibility.ERROR
    assert reason == "ERROR: Best effort publisher and reliable subscription;"


def test_compatibility_of_what_is_left_to_the_middleware() -> None:
    """Verdicts and texts are those of rmw_cyclonedds."""
    default = QoSPresetProfiles.SYSTEM_DEFAULT.value
    assert qos_check_compatible(qos_profile_sensor_data, default) == (
        QoSCompatibility.WARNING,
        "WARNING: Best effort publisher, but subscription is system_default;"
        "WARNING: Volatile publisher, but subscription is system_default;"
        "WARNING: Publisher liveliness is system_default and subscription liveliness is system_default;",
    )
    unsure = QoSProfile(depth=1, reliability=ReliabilityPolicy.SYSTEM_DEFAULT, liveliness=1)
    sure = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT, liveliness=1)
    assert qos_check_compatible(unsure, sure) == (QoSCompatibility.OK, "")
    reliable = QoSProfile(depth=1, deadline=Duration(seconds=1), liveliness=1)
    assert qos_check_compatible(unsure, reliable) == (
        QoSCompatibility.ERROR,
        "ERROR: Subscription has a deadline, but publisher does not;",
    )


def spin_until(node: Node, condition: Callable[[], Any]) -> None:
    for _ in range(1000):
        if condition():
            return
        rclpy.spin_once(node, timeout_sec=0.01)
    raise AssertionError("it did not happen")


def test_incompatible_endpoints_are_reported_on_both_sides(ros: None) -> None:
    node = Node("here")
    requested: list[Any] = []
    offered: list[Any] = []
    node.create_subscription(
        String,
        "topic",
        lambda _: None,
        QoSProfile(depth=1),
        event_callbacks=SubscriptionEventCallbacks(incompatible_qos=requested.append),
    )
    publisher = node.create_publisher(
        String,
        "topic",
        qos_profile_sensor_data,
        event_callbacks=PublisherEventCallbacks(incompatible_qos=offered.append),
    )
    spin_until(node, lambda: requested and offered)
    assert requested[0].last_policy_kind == offered[0].last_policy_kind == QoSPolicyKind.RELIABILITY
    assert publisher.get_subscription_count() == 0


def test_matches_and_missed_deadlines_are_reported(ros: None) -> None:
    node = Node("here")
    matched: list[Any] = []
    missed: list[Any] = []
    profile = QoSProfile(depth=1, deadline=Duration(nanoseconds=20_000_000))
    node.create_subscription(
        String,
        "topic",
        lambda _: None,
        profile,
        event_callbacks=SubscriptionEventCallbacks(matched=matched.append, deadline=missed.append),
    )
    publisher = node.create_publisher(String, "topic", profile)
    publisher.publish(String())
    spin_until(node, lambda: matched and missed)
    assert matched[0].current_count == 1
    assert missed[0].total_count >= 1


def test_liveliness_is_reported(ros: None) -> None:
    node = Node("here")
    changes: list[Any] = []
    profile = QoSProfile(
        depth=1,
        liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
        liveliness_lease_duration=Duration(nanoseconds=50_000_000),
    )
    node.create_subscription(
        String,
        "topic",
        lambda _: None,
        profile,
        event_callbacks=SubscriptionEventCallbacks(liveliness=changes.append),
    )
    publisher = node.create_publisher(String, "topic", profile)
    publisher.assert_liveliness()
    spin_until(node, lambda: any(c.alive_count == 1 for c in changes))
    spin_until(node, lambda: any(c.not_alive_count == 1 for c in changes))


def test_best_available_follows_the_publishers(ros: None) -> None:
    node = Node("here")
    node.create_publisher(String, "topic", qos_profile_sensor_data)
    node.create_subscription(String, "topic", lambda _: None, QoSPresetProfiles.BEST_AVAILABLE.value)
    (found,) = node.get_subscriptions_info_by_topic("topic")
    assert found.qos_profile.reliability == ReliabilityPolicy.BEST_EFFORT
    assert found.qos_profile.durability == DurabilityPolicy.VOLATILE


def test_a_zero_depth_is_warned_of_where_it_is_given() -> None:
    with pytest.warns(UserWarning, match="zero depth"):
        QoSProfile(depth=0)
    assert "unknown" in ReliabilityPolicy.short_keys()


OVERRIDES = {
    "qos_overrides./scan.publisher.depth": 3,
    "qos_overrides./scan.publisher.reliability": "best_effort",
    "qos_overrides./scan.subscription_near.deadline": 2_000_000,
}


def test_parameters_override_the_policies_of_a_topic(ros: None) -> None:
    given, own = QoSProfile(depth=10), [Parameter(name, value=value) for name, value in OVERRIDES.items()]
    node, judged = Node("overridden", parameter_overrides=own), []

    def judge(profile: QoSProfile) -> Any:
        judged.append(profile.depth)
        return QosCallbackResult(successful=profile.depth < 5, reason="too deep")

    options = QoSOverridingOptions.with_default_policies(callback=judge)
    publishers = [
        node.create_publisher(String, "scan", given, qos_overriding_options=options) for _ in range(2)
    ]
    assert [(p.qos_profile.depth, p.qos_profile.reliability.short_key) for p in publishers] == [
        (3, "best_effort"),
        (3, "best_effort"),
    ]
    assert judged == [3, 3]
    assert given == QoSProfile(depth=10)
    assert node.get_publishers_info_by_topic("/scan")[0].qos_profile.reliability.short_key == "best_effort"
    kinds = (QoSPolicyKind.DEADLINE, QoSPolicyKind.LIFESPAN)
    near = node.create_subscription(
        String,
        "scan",
        lambda _: None,
        given,
        qos_overriding_options=QoSOverridingOptions(kinds, entity_id="near"),
    )
    assert near.qos_profile.deadline == Duration(nanoseconds=2_000_000)
    assert {name: p.value for name, p in node.get_parameters_by_prefix("qos_overrides").items()} == {
        "/scan.publisher.history": "keep_last",
        "/scan.publisher.depth": 3,
        "/scan.publisher.reliability": "best_effort",
        "/scan.subscription_near.deadline": 2_000_000,
    }
    refused = node.set_parameters([Parameter("qos_overrides./scan.publisher.depth", value=4)])[0]
    assert not refused.successful
    with pytest.raises(InvalidQosOverridesError, match=r"`/deep` .*: too deep"):
        node.create_publisher(String, "deep", given, qos_overriding_options=options)
    assert "/deep" not in [p.topic_name for p in node.publishers]


def test_overrides_that_are_no_policies_are_refused(ros: None) -> None:
    name = "qos_overrides./scan.publisher"
    bad = [Parameter(f"{name}.reliability", value="sometimes"), Parameter(f"{name}.depth", value="many")]
    node = Node("overridden", parameter_overrides=bad)
    for kind, error, text in (
        (QoSPolicyKind.RELIABILITY, RuntimeError, "'sometimes' .*allowed are .*best_effort"),
        (QoSPolicyKind.DEPTH, InvalidParameterTypeException, "depth"),
    ):
        with pytest.raises(error, match=text):
            node.create_publisher(String, "scan", 10, qos_overriding_options=QoSOverridingOptions([kind]))
    with pytest.raises(ValueError, match="INVALID is no policy"):
        QoSOverridingOptions([QoSPolicyKind.INVALID])
