"""Overriding QoS by parameters, which is not covered."""

from __future__ import annotations

from typing import Any


class QoSOverridingOptions:
    """Raises NotImplementedError: QoS of a topic cannot be set by parameters here."""

    def __init__(self, policy_kinds: Any, *, callback: Any = None, entity_id: str | None = None) -> None:
        raise NotImplementedError("QoSOverridingOptions is not covered; a full ROS 2 has it")

    @classmethod
    def with_default_policies(cls, **options: Any) -> QoSOverridingOptions:
        raise NotImplementedError("QoSOverridingOptions is not covered; a full ROS 2 has it")


def __getattr__(name: str) -> object:
    if name in ("InvalidQosOverridesError", "QosCallbackResult", "QosCallbackType"):
        raise NotImplementedError(f"rclpy.qos_overriding_options.{name} is not covered; a full ROS 2 has it")
    raise AttributeError(f"module 'rclpy.qos_overriding_options' has no attribute '{name}'")
