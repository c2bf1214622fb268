"""Letting whoever starts a program choose policies of its topics, by read-only parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from .exceptions import ParameterAlreadyDeclaredException
from .parameter import Parameter
from .publisher import Publisher
from .qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSPolicyEnum,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)
from .subscription import Subscription
from .time import Duration

QoSProfileAttributes: TypeAlias = (
    HistoryPolicy | int | ReliabilityPolicy | DurabilityPolicy | Duration | LivelinessPolicy | bool
)

if TYPE_CHECKING:
    QosCallbackResult = Any

__all__ = [
    "InvalidQosOverridesError",
    "QoSOverridingOptions",
    "QosCallbackResult",
    "QosCallbackType",
    "declare_qos_parameters",
    "policy_as_parameter",
]

QosCallbackType = Callable[[QoSProfile], "QosCallbackResult"]

_ENUMS: dict[QoSPolicyKind, type[QoSPolicyEnum]] = {
    QoSPolicyKind.HISTORY: HistoryPolicy,
    QoSPolicyKind.RELIABILITY: ReliabilityPolicy,
    QoSPolicyKind.DURABILITY: DurabilityPolicy,
    QoSPolicyKind.LIVELINESS: LivelinessPolicy,
}


class InvalidQosOverridesError(Exception):
    """Raised where the callback of the options refuses the policies that the parameters ask for."""


class QoSOverridingOptions:
    """Which policies of a publisher or subscription become parameters, and who judges the result.

    `entity_id` tells endpoints of one topic apart. The parameters are named
    `qos_overrides.<topic>.<publisher or subscription>[_<entity_id>].<policy>`.

    Raises ValueError for `QoSPolicyKind.INVALID`, which no profile has.
    """

    def __init__(
        self,
        policy_kinds: Iterable[QoSPolicyKind],
        *,
        callback: QosCallbackType | None = None,
        entity_id: str | None = None,
    ) -> None:
        # An iterator would be empty at the second endpoint that is made with these options.
        self.policy_kinds = tuple(policy_kinds)
        if QoSPolicyKind.INVALID in self.policy_kinds:
            raise ValueError("QoSPolicyKind.INVALID is no policy; name those that may be overridden")
        self.callback = callback
        self.entity_id = entity_id

    @classmethod
    def with_default_policies(
        cls, *, callback: QosCallbackType | None = None, entity_id: str | None = None
    ) -> QoSOverridingOptions:
        """Options for history, depth and reliability."""
        kinds = (QoSPolicyKind.HISTORY, QoSPolicyKind.DEPTH, QoSPolicyKind.RELIABILITY)
        return cls(kinds, callback=callback, entity_id=entity_id)


class ParameterOwner(Protocol):
    """What is asked of the node whose parameters these become."""

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: Any = None, ignore_override: bool = False
    ) -> Parameter: ...

    def get_parameter(self, name: str) -> Parameter: ...


def declare_qos_parameters(
    entity_type: type[Publisher] | type[Subscription],
    node: ParameterOwner,
    topic_name: str,
    qos: QoSProfile,
    options: QoSOverridingOptions,
) -> None:
    """Declare the parameters of an endpoint, and write into `qos` what they say.

    Raises InvalidQosOverridesError where the callback refuses, RuntimeError for a value that names no
    policy, ValueError for a negative depth or a policy without a name in `qos`, and what declaring a
    parameter raises for a value of another type.
    """
    from ..interfaces.classes import message_class

    kind = "publisher" if issubclass(entity_type, Publisher) else "subscription"
    suffix = "" if options.entity_id is None else f"_{options.entity_id}"
    owner = f"{kind} `{topic_name}` with id `{options.entity_id}`"
    for policy in options.policy_kinds:
        if policy is QoSPolicyKind.LIFESPAN and kind == "subscription":
            continue  # only publishers have one
        name = f"qos_overrides.{topic_name}.{kind}{suffix}.{policy.name.lower()}"
        descriptor = message_class("rcl_interfaces/msg/ParameterDescriptor")(
            description=f"{policy.name.lower()} for {owner}", read_only=True
        )
        try:
            parameter = node.declare_parameter(name, policy_as_parameter(qos, policy), descriptor)
        except ParameterAlreadyDeclaredException:  # a second endpoint of this topic follows the same ones
            parameter = node.get_parameter(name)
        setattr(qos, policy.name.lower(), _policy_from_parameter(policy, parameter))
    if options.callback is not None:
        result = options.callback(qos)
        if not result.successful:
            raise InvalidQosOverridesError(f"the QoS overrides for {owner} are not valid: {result.reason}")


def policy_as_parameter(qos: QoSProfile, policy: QoSPolicyKind) -> str | int | bool:
    """A policy as a parameter has it: a short key, nanoseconds, a number or a truth.

    Raises ValueError for a policy that is unknown.
    """
    value: Any = getattr(qos, policy.name.lower())
    if isinstance(value, QoSPolicyEnum):
        if value.short_key == "unknown":
            raise ValueError(
                f"the {policy.name.lower()} of the profile is unknown: give one that can be used"
            )
        return value.short_key
    return value.nanoseconds if isinstance(value, Duration) else value


# The names that rclpy gives them: those who test options of their own call these.
_declare_qos_parameters = declare_qos_parameters
_get_qos_policy_parameter = policy_as_parameter


def _policy_from_parameter(policy: QoSPolicyKind, parameter: Parameter) -> Any:
    value = parameter.value
    if policy in _ENUMS:
        known = _ENUMS[policy]
        if value.upper() not in known.__members__:
            raise RuntimeError(
                f"unexpected QoS override '{value}' in the parameter '{parameter.name}'; "
                f"allowed are {', '.join(key for key in known.short_keys() if key != 'unknown')}"
            )
        return known[value.upper()]
    if policy in (QoSPolicyKind.LIFESPAN, QoSPolicyKind.DEADLINE, QoSPolicyKind.LIVELINESS_LEASE_DURATION):
        return Duration(nanoseconds=value)
    return value


def __getattr__(name: str) -> Any:
    # A class of an interface is made when it is first asked for: importing rclpy does without.
    if name == "QosCallbackResult":
        from ..interfaces.classes import message_class

        return message_class("rcl_interfaces/msg/SetParametersResult")
    raise AttributeError(f"module 'rclpy.qos_overriding_options' has no attribute '{name}'")
