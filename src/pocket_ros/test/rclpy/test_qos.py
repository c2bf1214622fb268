"""QoS profiles, compatibility and events."""

from collections.abc import Callable
from typing import Any

import pytest
import rclpy
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
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
    assert qos_check_compatible(reliable, best)[0] == QoSCompatibility.OK
    verdict, reason = qos_check_compatible(best, reliable)
    assert verdict == QoSCompatibility.ERROR
    assert "Best effort publisher" in reason


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
