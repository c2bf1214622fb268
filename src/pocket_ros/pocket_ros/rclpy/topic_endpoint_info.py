"""What the graph knows of a publisher or subscription."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from .qos import QoSPresetProfiles, QoSProfile
from .type_hash import TypeHash


class TopicEndpointTypeEnum(IntEnum):
    """Publisher or subscription."""

    INVALID = 0
    PUBLISHER = 1
    SUBSCRIPTION = 2


@dataclass
class TopicEndpointInfo:
    """A publisher or subscription of some node in the domain."""

    node_name: str = ""
    node_namespace: str = ""
    topic_type: str = ""
    topic_type_hash: TypeHash = field(default_factory=TypeHash)
    endpoint_type: TopicEndpointTypeEnum = TopicEndpointTypeEnum.INVALID
    endpoint_gid: list[int] = field(default_factory=list)
    qos_profile: QoSProfile = QoSPresetProfiles.UNKNOWN.value

    def __str__(self) -> str:
        gid = ".".join(f"{byte:02x}" for byte in self.endpoint_gid)
        qos = self.qos_profile
        history = f"{qos.history.name}" + (f" ({qos.depth})" if qos.history.name == "KEEP_LAST" else "")
        return "\n".join(
            [
                f"Node name: {self.node_name}",
                f"Node namespace: {self.node_namespace}",
                f"Topic type: {self.topic_type}",
                f"Topic type hash: {self.topic_type_hash}",
                f"Endpoint type: {self.endpoint_type.name}",
                f"GID: {gid}",
                "QoS profile:",
                f"  Reliability: {qos.reliability.name}",
                f"  History (Depth): {history}",
                f"  Durability: {qos.durability.name}",
                f"  Lifespan: {qos.lifespan}",
                f"  Deadline: {qos.deadline}",
                f"  Liveliness: {qos.liveliness.name}",
                f"  Liveliness lease duration: {qos.liveliness_lease_duration}",
            ]
        )
