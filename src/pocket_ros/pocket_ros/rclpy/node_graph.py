"""What a node can ask about the domain."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .exceptions import RCLError
from .qos import QoSPresetProfiles, QoSProfile
from .type_support import ros_type_name

if TYPE_CHECKING:
    from ..dds.discovery import Endpoint
    from .context import Context
    from .graph import Graph, GraphNode


# Type hashes as the graph reports them.


class TypeHash:
    """A version and 32 bytes; prints as `RIHS01_<hex>`, or INVALID."""

    __slots__ = ("value", "version")

    def __init__(self, version: int = -1, value: bytes = bytes(32)) -> None:
        self.version = version
        self.value = value

    @classmethod
    def from_string(cls, text: str) -> TypeHash:
        """Reads `RIHS01_<64 hex digits>`; anything else is the invalid hash."""
        prefix, _, digits = text.partition("_")
        if not prefix.startswith("RIHS") or len(digits) != 64:
            return cls()
        return cls(int(prefix[4:]), bytes.fromhex(digits))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, TypeHash) and (self.version, self.value) == (other.version, other.value)

    def __hash__(self) -> int:
        return hash((self.version, self.value))

    def __str__(self) -> str:
        return "INVALID" if self.version < 0 else f"RIHS{self.version:02}_{self.value.hex()}"

    def __repr__(self) -> str:
        return f"TypeHash(version={self.version}, value={self.value!r})"


# What the graph knows of a publisher or subscription.


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


# ROS names in DDS topic names.


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


NamesAndTypes = list[tuple[str, list[str]]]
_POLL = 0.05


class NodeNameNonExistentError(RCLError):
    """Raised for a node that the graph does not know."""


class NodeGraph:
    """Names, types and counts in the domain; a part of Node."""

    @property
    def context(self) -> Context:
        raise NotImplementedError("Node defines context")

    def _ros_resolve(self, name: str, kind: str, only_expand: bool = False) -> str:
        raise NotImplementedError("Node defines _ros_resolve()")

    @property
    def _ros_graph(self) -> Graph:
        return self.context.graph

    def get_node_names(self) -> list[str]:
        """The names of all nodes."""
        return [node.name for node in self._ros_graph.nodes()]

    def get_fully_qualified_node_names(self) -> list[str]:
        """The names of all nodes with their namespaces."""
        return [node.full_name for node in self._ros_graph.nodes()]

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        """Name and namespace of all nodes."""
        return [(node.name, node.namespace) for node in self._ros_graph.nodes()]

    def get_node_names_and_namespaces_with_enclaves(self) -> list[tuple[str, str, str]]:
        """Name, namespace and enclave of all nodes."""
        return [(node.name, node.namespace, node.enclave) for node in self._ros_graph.nodes()]

    def get_topic_names_and_types(self, no_demangle: bool = False) -> NamesAndTypes:
        """All topics with their types; as DDS knows them where `no_demangle`."""
        return _topics([*self._ros_graph.writers(), *self._ros_graph.readers()], no_demangle)

    def get_service_names_and_types(self) -> NamesAndTypes:
        """All services with their types."""
        return _services([*self._ros_graph.writers(), *self._ros_graph.readers()])

    def get_publisher_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> NamesAndTypes:
        """What a node publishes. Raises NodeNameNonExistentError."""
        node = self._ros_find(node_name, node_namespace)
        return _topics((e for e in self._ros_graph.writers() if e.guid in node.writers), no_demangle)

    def get_subscriber_names_and_types_by_node(
        self, node_name: str, node_namespace: str, no_demangle: bool = False
    ) -> NamesAndTypes:
        """What a node subscribes to. Raises NodeNameNonExistentError."""
        node = self._ros_find(node_name, node_namespace)
        return _topics((e for e in self._ros_graph.readers() if e.guid in node.readers), no_demangle)

    def get_service_names_and_types_by_node(self, node_name: str, node_namespace: str) -> NamesAndTypes:
        """The services of a node. Raises NodeNameNonExistentError."""
        node = self._ros_find(node_name, node_namespace)
        own = (e for e in self._ros_graph.readers() if e.guid in node.readers)
        return _services(e for e in own if e.topic.startswith(SERVICE_REQUESTS))

    def get_client_names_and_types_by_node(self, node_name: str, node_namespace: str) -> NamesAndTypes:
        """The services a node has clients of. Raises NodeNameNonExistentError."""
        node = self._ros_find(node_name, node_namespace)
        own = (e for e in self._ros_graph.readers() if e.guid in node.readers)
        return _services(e for e in own if e.topic.startswith(SERVICE_REPLIES))

    def count_publishers(self, topic_name: str) -> int:
        """How many publishers a topic has. Raises ValueError for names that are none."""
        return self._ros_graph.count_writers("rt" + self._ros_resolve(topic_name, "rostopic"))

    def count_subscribers(self, topic_name: str) -> int:
        """How many subscriptions a topic has. Raises ValueError for names that are none."""
        return self._ros_graph.count_readers("rt" + self._ros_resolve(topic_name, "rostopic"))

    def count_clients(self, service_name: str) -> int:
        """How many clients a service has. Raises ValueError for names that are none."""
        return self._ros_graph.count_readers(f"rr{self._ros_resolve(service_name, 'rosservice')}Reply")

    def count_services(self, service_name: str) -> int:
        """How many servers a service has. Raises ValueError for names that are none."""
        return self._ros_graph.count_readers(f"rq{self._ros_resolve(service_name, 'rosservice')}Request")

    def get_publishers_info_by_topic(
        self, topic_name: str, no_mangle: bool = False
    ) -> list[TopicEndpointInfo]:
        """Who publishes a topic, and how. Raises ValueError for names that are none."""
        return self._ros_infos(
            self._ros_graph.writers(), topic_name, no_mangle, TopicEndpointTypeEnum.PUBLISHER
        )

    def get_subscriptions_info_by_topic(
        self, topic_name: str, no_mangle: bool = False
    ) -> list[TopicEndpointInfo]:
        """Who subscribes to a topic, and how. Raises ValueError for names that are none."""
        return self._ros_infos(
            self._ros_graph.readers(), topic_name, no_mangle, TopicEndpointTypeEnum.SUBSCRIPTION
        )

    def wait_for_node(self, fully_qualified_node_name: str, timeout: float) -> bool:
        """Wait for a node to appear; False on timeout (seconds). The leading slash can be left out."""
        wanted = "/" + fully_qualified_node_name.lstrip("/")
        deadline = time.monotonic() + timeout
        while self.context.ok():
            if wanted in self.get_fully_qualified_node_names():
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        return False

    def _ros_find(self, name: str, namespace: str) -> GraphNode:
        nodes = self._ros_graph.nodes()
        for node in nodes:
            if node.name == name and node.namespace == (namespace or "/"):
                return node
        raise NodeNameNonExistentError(
            f"Cannot get information of node '{namespace.rstrip('/')}/{name}': the graph has no such node"
        )

    def _ros_infos(
        self, endpoints: list[Endpoint], topic: str, no_mangle: bool, kind: TopicEndpointTypeEnum
    ) -> list[TopicEndpointInfo]:
        wanted = topic if no_mangle else "rt" + self._ros_resolve(topic, "rostopic")
        found = [e for e in endpoints if e.topic == wanted]
        nodes = self._ros_graph.nodes() if found else []
        return [_info(endpoint, nodes, kind) for endpoint in found]


def _info(endpoint: Endpoint, nodes: list[GraphNode], kind: TopicEndpointTypeEnum) -> TopicEndpointInfo:
    from .qos import from_dds

    owner = next((n for n in nodes if endpoint.guid in n.readers or endpoint.guid in n.writers), None)
    announced = [
        p for p in endpoint.user_data.decode("ascii", "replace").split(";") if p.startswith("typehash=")
    ]
    return TopicEndpointInfo(
        node_name=owner.name if owner else "_NODE_NAME_UNKNOWN_",
        node_namespace=owner.namespace if owner else "_NODE_NAMESPACE_UNKNOWN_",
        topic_type=ros_type_name(endpoint.type_name),
        topic_type_hash=TypeHash.from_string(announced[0].removeprefix("typehash=") if announced else ""),
        endpoint_type=kind,
        endpoint_gid=list(endpoint.guid),
        qos_profile=from_dds(endpoint.qos),
    )


def _topics(endpoints: Iterable[Endpoint], no_demangle: bool) -> NamesAndTypes:
    found: dict[str, set[str]] = {}
    for endpoint in endpoints:
        name = endpoint.topic if no_demangle else demangle_topic(endpoint.topic)
        if name is not None:
            kind = endpoint.type_name if no_demangle else ros_type_name(endpoint.type_name)
            found.setdefault(name, set()).add(kind)
    return [(name, sorted(found[name])) for name in sorted(found)]


def _services(endpoints: Iterable[Endpoint]) -> NamesAndTypes:
    found: dict[str, set[str]] = {}
    for endpoint in endpoints:
        service = demangle_service(endpoint.topic, endpoint.type_name)
        if service is not None:
            found.setdefault(service[0], set()).add(service[1])
    return [(name, sorted(found[name])) for name in sorted(found)]
