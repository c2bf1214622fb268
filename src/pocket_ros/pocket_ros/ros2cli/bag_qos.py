"""Quality of service between rclpy and recordings."""

from __future__ import annotations

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
