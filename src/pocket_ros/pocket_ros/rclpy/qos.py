"""Quality-of-service profiles."""

from __future__ import annotations

import warnings
from enum import Enum, IntEnum
from typing import Any, NamedTuple

from ..dds import endpoints as dds
from ..dds.library import INFINITY
from .time import Duration, Infinite

__all__ = [
    "CQoSProfile",
    "DurabilityPolicy",
    "HistoryPolicy",
    "InvalidQoSProfileException",
    "LivelinessPolicy",
    "QoSCheckCompatibleResult",
    "QoSCompatibility",
    "QoSDurabilityPolicy",
    "QoSHistoryPolicy",
    "QoSLivelinessPolicy",
    "QoSPolicyEnum",
    "QoSPolicyKind",
    "QoSPresetProfiles",
    "QoSProfile",
    "QoSReliabilityPolicy",
    "ReliabilityPolicy",
    "qos_check_compatible",
    "qos_policy_name_from_kind",
    "qos_profile_action_status_default",
    "qos_profile_best_available",
    "qos_profile_default",
    "qos_profile_parameter_events",
    "qos_profile_parameters",
    "qos_profile_rosout_default",
    "qos_profile_sensor_data",
    "qos_profile_services_default",
    "qos_profile_system_default",
    "qos_profile_unknown",
]


# Why a publisher and a subscription do not match, or may not, in the words of rmw_cyclonedds. Profiles
# are read by their attributes only: the module of profiles imports this one.


_LEFT_OPEN = ("SYSTEM_DEFAULT", "UNKNOWN")


class _Rule(NamedTuple):
    """A policy, the value offered that does not match the value asked, and what is said of them."""

    policy: str
    offered: str
    asked: str
    conflict: str
    asked_is_open: str
    offered_is_open: str


_RULES = (
    _Rule(
        "reliability",
        "BEST_EFFORT",
        "RELIABLE",
        "Best effort publisher and reliable subscription",
        "Best effort publisher, but subscription is",
        "Reliable subscription, but publisher is",
    ),
    _Rule(
        "durability",
        "VOLATILE",
        "TRANSIENT_LOCAL",
        "Volatile publisher and transient local subscription",
        "Volatile publisher, but subscription is",
        "Transient local subscription, but publisher is",
    ),
    _Rule(
        "liveliness",
        "AUTOMATIC",
        "MANUAL_BY_TOPIC",
        "Publisher's liveliness is automatic and subscription's is manual by topic",
        "Publisher's liveliness is automatic, but subscription's is",
        "Subscription's liveliness is manual by topic, but publisher's is",
    ),
)
_DURATIONS = (
    (
        "deadline",
        "Subscription deadline is less than publisher deadline",
        "Subscription has a deadline, but publisher does not",
    ),
    (
        "liveliness_lease_duration",
        "Subscription liveliness lease duration is less than publisher",
        "Subscription has a liveliness lease duration, but publisher does not",
    ),
)


def conflicts(offered: object, asked: object) -> list[str]:
    """Why the two profiles do not match; none where they do."""
    found = [rule.conflict for rule in _RULES if _values(rule, offered, asked) == (rule.offered, rule.asked)]
    for name, is_less, is_missing in _DURATIONS:
        span, wanted = getattr(offered, name), getattr(asked, name)
        if _nanoseconds(span) > _nanoseconds(wanted):
            found.append(is_less if span.nanoseconds else is_missing)
    return found


def doubts(offered: object, asked: object) -> list[str]:
    """Why it is up to the middleware whether the two profiles match; none where it is not."""
    found = []
    for rule in _RULES:
        values = _values(rule, offered, asked)
        first, second = (value.lower() for value in values)
        is_open = [value in _LEFT_OPEN for value in values]
        if all(is_open):
            found.append(f"Publisher {rule.policy} is {first} and subscription {rule.policy} is {second}")
        elif is_open[0] and values[1] == rule.asked:
            found.append(f"{rule.offered_is_open} {first}")
        elif is_open[1] and values[0] == rule.offered:
            found.append(f"{rule.asked_is_open} {second}")
    return found


def _values(rule: _Rule, offered: object, asked: object) -> tuple[str, str]:
    return getattr(offered, rule.policy).name, getattr(asked, rule.policy).name


def _nanoseconds(duration: Duration) -> int:
    return duration.nanoseconds or Infinite.nanoseconds


class QoSPolicyKind(IntEnum):
    """The policies, as bits."""

    INVALID = 1 << 0
    DURABILITY = 1 << 1
    DEADLINE = 1 << 2
    LIVELINESS = 1 << 3
    RELIABILITY = 1 << 4
    HISTORY = 1 << 5
    LIFESPAN = 1 << 6
    DEPTH = 1 << 7
    LIVELINESS_LEASE_DURATION = 1 << 8
    AVOID_ROS_NAMESPACE_CONVENTIONS = 1 << 9


def qos_policy_name_from_kind(policy_kind: QoSPolicyKind | int) -> str:
    """The name of a policy, such as `RELIABILITY`."""
    return QoSPolicyKind(policy_kind).name


class InvalidQoSProfileException(Exception):
    """Raised for a profile whose policies contradict each other."""

    def __init__(self, *args: Any) -> None:
        super().__init__("Invalid QoSProfile", *args)


class QoSPolicyEnum(IntEnum):
    """What the policy enumerations share: short keys such as `keep_last`.

    The names that start with `RMW_QOS_POLICY_` are the older ones of the same values.
    """

    @classmethod
    def short_keys(cls) -> list[str]:
        return [member.name.lower() for member in cls]

    @classmethod
    def get_from_short_key(cls, name: str) -> int:
        return cls[name.upper()].value

    @property
    def short_key(self) -> str:
        return self.name.lower()


class HistoryPolicy(QoSPolicyEnum):
    """How many samples are kept."""

    SYSTEM_DEFAULT = 0
    KEEP_LAST = 1
    KEEP_ALL = 2
    UNKNOWN = 3
    RMW_QOS_POLICY_HISTORY_SYSTEM_DEFAULT = 0
    RMW_QOS_POLICY_HISTORY_KEEP_LAST = 1
    RMW_QOS_POLICY_HISTORY_KEEP_ALL = 2


class ReliabilityPolicy(QoSPolicyEnum):
    """Whether lost samples are sent again."""

    SYSTEM_DEFAULT = 0
    RELIABLE = 1
    BEST_EFFORT = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4
    RMW_QOS_POLICY_RELIABILITY_SYSTEM_DEFAULT = 0
    RMW_QOS_POLICY_RELIABILITY_RELIABLE = 1
    RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT = 2


class DurabilityPolicy(QoSPolicyEnum):
    """Whether late subscriptions get earlier samples."""

    SYSTEM_DEFAULT = 0
    TRANSIENT_LOCAL = 1
    VOLATILE = 2
    UNKNOWN = 3
    BEST_AVAILABLE = 4
    RMW_QOS_POLICY_DURABILITY_SYSTEM_DEFAULT = 0
    RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL = 1
    RMW_QOS_POLICY_DURABILITY_VOLATILE = 2


class LivelinessPolicy(QoSPolicyEnum):
    """How a publisher shows that it is alive."""

    SYSTEM_DEFAULT = 0
    AUTOMATIC = 1
    MANUAL_BY_TOPIC = 3
    UNKNOWN = 4
    BEST_AVAILABLE = 5
    RMW_QOS_POLICY_LIVELINESS_SYSTEM_DEFAULT = 0
    RMW_QOS_POLICY_LIVELINESS_AUTOMATIC = 1
    RMW_QOS_POLICY_LIVELINESS_MANUAL_BY_TOPIC = 3


QoSHistoryPolicy = HistoryPolicy
QoSReliabilityPolicy = ReliabilityPolicy
QoSDurabilityPolicy = DurabilityPolicy
QoSLivelinessPolicy = LivelinessPolicy

_UNSPECIFIED = Duration()
_QOS_DURATIONS = ("lifespan", "deadline", "liveliness_lease_duration")
_ENUMS: dict[str, Any] = {
    "history": HistoryPolicy,
    "reliability": ReliabilityPolicy,
    "durability": DurabilityPolicy,
    "liveliness": LivelinessPolicy,
}
_DEFAULTS: dict[str, Any] = {
    "history": HistoryPolicy.KEEP_LAST,
    "depth": 0,
    "reliability": ReliabilityPolicy.RELIABLE,
    "durability": DurabilityPolicy.VOLATILE,
    "lifespan": _UNSPECIFIED,
    "deadline": _UNSPECIFIED,
    "liveliness": LivelinessPolicy.SYSTEM_DEFAULT,
    "liveliness_lease_duration": _UNSPECIFIED,
    "avoid_ros_namespace_conventions": False,
}


class QoSProfile:
    """The policies of a publisher, subscription, service or client.

    Needs `depth` or `history`; raises InvalidQoSProfileException without them and for KEEP_LAST without
    depth, AssertionError
    for a value of the wrong type or an unknown policy.
    """

    __slots__ = tuple(f"_{name}" for name in _DEFAULTS)

    history: HistoryPolicy
    depth: int
    reliability: ReliabilityPolicy
    durability: DurabilityPolicy
    lifespan: Duration
    deadline: Duration
    liveliness: LivelinessPolicy
    liveliness_lease_duration: Duration
    avoid_ros_namespace_conventions: bool

    def __init__(self, **kwargs: Any) -> None:
        unknown = kwargs.keys() - _DEFAULTS.keys()
        if unknown:
            raise AssertionError(
                f"Invalid arguments passed to constructor: {sorted(unknown)}; allowed are {sorted(_DEFAULTS)}"
            )
        if "history" not in kwargs:
            if "depth" not in kwargs:
                raise InvalidQoSProfileException("History and/or depth settings are required.")
            kwargs["history"] = HistoryPolicy.KEEP_LAST
        if kwargs["history"] == HistoryPolicy.KEEP_LAST and "depth" not in kwargs:
            raise InvalidQoSProfileException("History set to KEEP_LAST without a depth setting.")
        for name, default in _DEFAULTS.items():
            setattr(self, name, kwargs.get(name, default))

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, f"_{name}", _checked(name, value))
        if name == "depth" and value == 0 and self.history == HistoryPolicy.KEEP_LAST:
            warnings.warn(
                "A zero depth with KEEP_LAST doesn't make sense; no data could be stored. It is taken as 1.",
                stacklevel=3,
            )

    def __getattr__(self, name: str) -> Any:
        if name in _DEFAULTS:
            return object.__getattribute__(self, f"_{name}")
        raise AttributeError(f"'QoSProfile' object has no attribute '{name}'")

    def get_c_qos_profile(self) -> CQoSProfile:
        """A copy as `rclpy._rclpy_pybind11` has it."""
        return CQoSProfile(**self.__getstate__())

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _DEFAULTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, QoSProfile):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in _DEFAULTS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in _DEFAULTS))

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)}' for n in _DEFAULTS)})"

    __repr__ = __str__


class CQoSProfile(QoSProfile):
    """What is `rclpy._rclpy_pybind11.rmw_qos_profile_t`: a profile that gives its policies by name."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The policies, as the arguments of a QoSProfile."""
        return self.__getstate__()

    @staticmethod
    def predefined(name: str) -> CQoSProfile:
        """A profile such as `qos_profile_default`. Raises ValueError for a name that none has."""
        known = {f"qos_profile_{key.lower()}": p.value for key, p in QoSPresetProfiles.__members__.items()}
        if name not in known:
            raise ValueError(f"no profile is named {name!r}; known are {', '.join(sorted(known))}")
        return CQoSProfile(**known[name].__getstate__())


def _checked(name: str, value: Any) -> Any:
    if name in _ENUMS:
        if not isinstance(value, (_ENUMS[name], int)):
            raise AssertionError(f"{name} must be a {_ENUMS[name].__name__}, not {value!r}")
        return _ENUMS[name](value)
    if name in _QOS_DURATIONS:
        if not isinstance(value, Duration):
            raise AssertionError(f"{name} must be a Duration, not {value!r}")
        return value
    if name == "depth":
        if not isinstance(value, int):
            raise AssertionError(f"depth must be an int, not {value!r}")
        if value < 0:
            raise ValueError(f"depth must not be negative, it was {value}")
        return value
    if not isinstance(value, bool):
        raise AssertionError(f"{name} must be a bool, not {value!r}")
    return value


_BEST_EFFORT = {"reliability": ReliabilityPolicy.BEST_EFFORT}
DeadlineBestAvailable = Infinite
LivelinessLeaseDurationeBestAvailable = Infinite
_SYSTEM = {
    "history": HistoryPolicy.SYSTEM_DEFAULT,
    "reliability": ReliabilityPolicy.SYSTEM_DEFAULT,
    "durability": DurabilityPolicy.SYSTEM_DEFAULT,
}
_AVAILABLE = {
    "reliability": ReliabilityPolicy.BEST_AVAILABLE,
    "durability": DurabilityPolicy.BEST_AVAILABLE,
    "liveliness": LivelinessPolicy.BEST_AVAILABLE,
}

qos_profile_unknown = QoSProfile(
    history=HistoryPolicy.UNKNOWN,
    reliability=ReliabilityPolicy.UNKNOWN,
    durability=DurabilityPolicy.UNKNOWN,
    liveliness=LivelinessPolicy.UNKNOWN,
)
qos_profile_default = QoSProfile(depth=10)
qos_profile_system_default = QoSProfile(**_SYSTEM)
qos_profile_sensor_data = QoSProfile(depth=5, **_BEST_EFFORT)
qos_profile_services_default = QoSProfile(depth=10)
qos_profile_parameters = QoSProfile(depth=1000)
qos_profile_parameter_events = QoSProfile(depth=1000)
qos_profile_best_available = QoSProfile(depth=10, **_AVAILABLE)
qos_profile_action_status_default = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
qos_profile_rosout_default = QoSProfile(
    depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=10)
)


class QoSPresetProfiles(Enum):
    """The predefined profiles by name."""

    UNKNOWN = qos_profile_unknown
    DEFAULT = qos_profile_default
    SYSTEM_DEFAULT = qos_profile_system_default
    SENSOR_DATA = qos_profile_sensor_data
    SERVICES_DEFAULT = qos_profile_services_default
    PARAMETERS = qos_profile_parameters
    PARAMETER_EVENTS = qos_profile_parameter_events
    ACTION_STATUS_DEFAULT = qos_profile_action_status_default
    BEST_AVAILABLE = qos_profile_best_available

    @classmethod
    def short_keys(cls) -> list[str]:
        return [k.lower() for k in cls.__members__ if k != "UNKNOWN"]

    @classmethod
    def get_from_short_key(cls, name: str) -> QoSProfile:
        return cls[name.upper()].value


class QoSCompatibility(IntEnum):
    """Whether a publisher and a subscription match."""

    OK = 0
    WARNING = 1
    ERROR = 2


class QoSCheckCompatibleResult(NamedTuple):
    """The verdict of `qos_check_compatible`; unpacks as a pair."""

    compatibility: QoSCompatibility
    reason: str


def qos_check_compatible(
    publisher_qos: QoSProfile, subscription_qos: QoSProfile
) -> tuple[QoSCompatibility, str]:
    """Whether the two would match, and the reasons where not, or where that is up to the middleware."""
    errors = conflicts(publisher_qos, subscription_qos)
    warned = [] if errors else doubts(publisher_qos, subscription_qos)
    reason = "".join([*(f"ERROR: {text};" for text in errors), *(f"WARNING: {text};" for text in warned)])
    if errors:
        return QoSCheckCompatibleResult(QoSCompatibility.ERROR, reason)
    return QoSCheckCompatibleResult(QoSCompatibility.WARNING if warned else QoSCompatibility.OK, reason)


# QoS profiles as DDS policies and back.


# DDS policy numbers, as statuses report them.
POLICY_KINDS = {
    2: QoSPolicyKind.DURABILITY,
    4: QoSPolicyKind.DEADLINE,
    8: QoSPolicyKind.LIVELINESS,
    11: QoSPolicyKind.RELIABILITY,
    13: QoSPolicyKind.HISTORY,
    21: QoSPolicyKind.LIFESPAN,
}


def to_dds(profile: QoSProfile, peers: list[dds.EndpointQos] | None = None) -> dds.EndpointQos:
    """The policies of an endpoint.

    `peers` are the writers a subscription finds already there: BEST_AVAILABLE asks for what they all offer. A
    publisher
    (None) offers the most.
    """
    keep_all = profile.history == HistoryPolicy.KEEP_ALL
    reliable = profile.reliability != ReliabilityPolicy.BEST_EFFORT
    if profile.reliability == ReliabilityPolicy.BEST_AVAILABLE and peers:
        reliable = all(p.reliability == dds.RELIABLE for p in peers)
    local = profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
    if profile.durability == DurabilityPolicy.BEST_AVAILABLE:
        local = peers is None or (bool(peers) and all(p.durability == dds.TRANSIENT_LOCAL for p in peers))
    manual = profile.liveliness == LivelinessPolicy.MANUAL_BY_TOPIC
    return dds.EndpointQos(
        reliability=dds.RELIABLE if reliable else dds.BEST_EFFORT,
        durability=dds.TRANSIENT_LOCAL if local else dds.VOLATILE,
        history=dds.KEEP_ALL if keep_all else dds.KEEP_LAST,
        depth=0 if keep_all else max(profile.depth, 1),
        deadline=_to_dds_duration(profile.deadline),
        lifespan=_to_dds_duration(profile.lifespan),
        liveliness=dds.MANUAL_BY_TOPIC if manual else dds.AUTOMATIC,
        lease=_to_dds_duration(profile.liveliness_lease_duration),
    )


def from_dds(qos: dds.EndpointQos) -> QoSProfile:
    """The profile of an endpoint that discovery found. Its history is not announced by all systems."""
    keep_all = qos.history == dds.KEEP_ALL
    manual = qos.liveliness == dds.MANUAL_BY_TOPIC
    return QoSProfile(
        history=HistoryPolicy.KEEP_ALL if keep_all else HistoryPolicy.KEEP_LAST,
        depth=qos.depth,
        reliability=ReliabilityPolicy.RELIABLE
        if qos.reliability == dds.RELIABLE
        else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL
        if qos.durability == dds.TRANSIENT_LOCAL
        else DurabilityPolicy.VOLATILE,
        lifespan=_from_dds_duration(qos.lifespan),
        deadline=_from_dds_duration(qos.deadline),
        liveliness=LivelinessPolicy.MANUAL_BY_TOPIC if manual else LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=_from_dds_duration(qos.lease),
    )


def resolved(profile: QoSProfile, qos: dds.EndpointQos) -> QoSProfile:
    """The profile with what the endpoint really has; what endpoints report of themselves."""
    found = from_dds(qos)
    found.avoid_ros_namespace_conventions = profile.avoid_ros_namespace_conventions
    return found


def _to_dds_duration(duration: Duration) -> int:
    """Zero stands for "not specified", which is no limit."""
    return INFINITY if duration.nanoseconds <= 0 else min(duration.nanoseconds, INFINITY)


def _from_dds_duration(nanoseconds: int) -> Duration:
    return Infinite if nanoseconds >= INFINITY else Duration(nanoseconds=nanoseconds)


def needs_peers(profile: QoSProfile) -> bool:
    """Whether the policies depend on who is there already."""
    return (
        profile.reliability == ReliabilityPolicy.BEST_AVAILABLE
        or profile.durability == DurabilityPolicy.BEST_AVAILABLE
    )
