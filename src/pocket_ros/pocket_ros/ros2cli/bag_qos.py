"""Quality of service between rclpy and recordings."""

from __future__ import annotations

from pathlib import Path

import yaml
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

from ..rclpy import qos
from ..rclpy.duration import Duration

_SECOND = 1_000_000_000


def _to_time(duration: Duration) -> QosTime:
    return QosTime(*divmod(duration.nanoseconds, _SECOND))


def _from_time(time: QosTime) -> Duration:
    # Recordings by other tools write an unlimited time with more than fits.
    return Duration(nanoseconds=min(time.sec * _SECOND + time.nsec, 2**63 - 1))


def qos_to_bag(profile: qos.QoSProfile) -> Qos:
    """A profile as a recording keeps it."""
    return Qos(
        QosHistory(int(profile.history)),
        profile.depth,
        QosReliability(int(profile.reliability)),
        QosDurability(int(profile.durability)),
        _to_time(profile.deadline),
        _to_time(profile.lifespan),
        QosLiveliness(int(profile.liveliness)),
        _to_time(profile.liveliness_lease_duration),
        False,
    )


def qos_from_bag(profiles: list[Qos]) -> qos.QoSProfile:
    """The profile to play with: the first recorded, or reliable and volatile where none was."""
    if not profiles:
        return qos.QoSProfile(depth=10)
    found = profiles[0]
    history = (
        qos.HistoryPolicy.KEEP_ALL if found.history == QosHistory.KEEP_ALL else qos.HistoryPolicy.KEEP_LAST
    )
    best_effort = found.reliability == QosReliability.BEST_EFFORT
    transient = found.durability == QosDurability.TRANSIENT_LOCAL
    return qos.QoSProfile(
        history=history,
        depth=max(found.depth, 1) if found.history != QosHistory.UNKNOWN else 10,
        reliability=qos.ReliabilityPolicy.BEST_EFFORT if best_effort else qos.ReliabilityPolicy.RELIABLE,
        durability=qos.DurabilityPolicy.TRANSIENT_LOCAL if transient else qos.DurabilityPolicy.VOLATILE,
        deadline=_from_time(found.deadline),
        lifespan=_from_time(found.lifespan),
    )


_DURATIONS = ("deadline", "lifespan", "liveliness_lease_duration")
_POLICIES = {
    "history": qos.HistoryPolicy,
    "reliability": qos.ReliabilityPolicy,
    "durability": qos.DurabilityPolicy,
    "liveliness": qos.LivelinessPolicy,
}


def read_overrides(path: str | None) -> dict[str, qos.QoSProfile]:
    """Topic to profile, of a file as `--qos-profile-overrides-path` takes; none without one.

    Raises OSError, or ValueError with the topic that is wrong.
    """
    if path is None:
        return {}
    try:
        content = yaml.safe_load(Path(path).read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: is no YAML: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: must have the settings of each topic by the topic's name")
    profiles = {}
    for topic, settings in content.items():
        try:
            profiles[str(topic)] = _override(settings)
        except (ValueError, TypeError, qos.InvalidQoSProfileException) as error:
            raise ValueError(f"{path}: '{topic}': {error}") from error
    return profiles


def _override(settings: object) -> qos.QoSProfile:
    if not isinstance(settings, dict):
        raise ValueError("must have settings by name, such as 'reliability: best_effort'")
    values: dict[str, object] = {}
    for name, value in settings.items():
        if name in _DURATIONS:
            values[name] = _override_duration(name, value)
        elif name in _POLICIES:
            if value not in _POLICIES[name].short_keys():
                raise ValueError(f"{name} is {value!r}; it can be {', '.join(_POLICIES[name].short_keys())}")
            values[name] = _POLICIES[name](_POLICIES[name].get_from_short_key(value))
        elif name == "depth":
            if type(value) is not int or value < 0:
                raise ValueError(f"depth is {value!r}; it must be a whole number from 0 on")
            values[name] = value
        elif name == "avoid_ros_namespace_conventions":
            values[name] = bool(value)
        else:
            raise ValueError(f"Unexpected key `{name}` for QoS profile.")
    return qos.QoSProfile(**values)


def _override_duration(name: str, value: object) -> Duration:
    if not isinstance(value, dict) or value.keys() != {"sec", "nsec"}:
        raise ValueError(f"{name} must have both sec and nsec")
    duration = Duration(seconds=value["sec"], nanoseconds=value["nsec"])
    if duration.nanoseconds < 0:
        raise ValueError(f"{name} may not be negative")
    return duration
