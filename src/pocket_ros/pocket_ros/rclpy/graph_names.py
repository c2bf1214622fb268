"""ROS names in DDS topic names."""

from __future__ import annotations

from .type_support import ros_type_name

SERVICE_REQUESTS, SERVICE_REPLIES = "rq/", "rr/"


def demangle_topic(dds_topic: str) -> str | None:
    """`rt/name` as `/name`; None for what is no ROS topic."""
    return dds_topic[2:] if dds_topic.startswith("rt/") else None


def demangle_service(dds_topic: str, dds_type: str) -> tuple[str, str] | None:
    """Service name and type behind `rq/nameRequest` or `rr/nameReply`; None for what is neither."""
    if dds_topic.startswith(SERVICE_REQUESTS) and dds_topic.endswith("Request"):
        name = dds_topic[2 : -len("Request")]
    elif dds_topic.startswith(SERVICE_REPLIES) and dds_topic.endswith("Reply"):
        name = dds_topic[2 : -len("Reply")]
    else:
        return None
    kind = ros_type_name(dds_type)
    return name, kind.removesuffix("_Request").removesuffix("_Response")
