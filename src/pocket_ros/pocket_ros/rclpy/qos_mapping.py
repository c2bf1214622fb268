"""QoS profiles as DDS policies and back."""

from __future__ import annotations

from ..dds import qos as dds
from ..dds.library import INFINITY
from .duration import Duration, Infinite
from .qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSPolicyKind,
    QoSProfile,
    ReliabilityPolicy,
)

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
