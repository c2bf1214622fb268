"""Who is on the other side of a service, and who of them speaks another protocol.

rmw_cyclonedds, and pocket_ros with it, puts the identity of a request into the data, before its fields.
Other DDS vendors send it beside the data, where Cyclone DDS neither reads nor writes it. Topic and type have
the same names, so discovery matches the two sides, and each would take the header of the other for fields.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..dds.endpoints import MatchedEndpoint, Reader, Writer
    from .graph import Graph

# The first two bytes of every guid, by the RTPS specification.
_CYCLONE = b"\x01\x10"
_VENDORS = {
    b"\x01\x01": "RTI Connext DDS",
    b"\x01\x03": "OpenDDS",
    b"\x01\x0f": "eProsima Fast DDS",
    b"\x01\x11": "GurumDDS",
    b"\x01\x12": "RustDDS",
}
ADVICE = "start that node with RMW_IMPLEMENTATION=rmw_cyclonedds_cpp"
# Discovery tells of an endpoint before it tells of its node.
_NAMED_AFTER_S = 1.0
# Above this, those that have gone are looked for.
_MOST_KNOWN = 256


class ServicePeers:
    """The endpoints on the other side of one writer or reader of a service."""

    def __init__(self, endpoint: Reader | Writer) -> None:
        self._endpoint = endpoint
        self._known: dict[int, MatchedEndpoint | None] = {}

    def stranger(self, instance: int) -> MatchedEndpoint | None:
        """The peer of this instance handle, where its protocol is another; None for all others."""
        if instance in self._known:
            return self._known[instance]
        peer = self._endpoint.matched_data(instance)
        if peer is None:
            return None  # it has gone: who it was nobody knows, and nothing is kept
        if len(self._known) >= _MOST_KNOWN:
            left = set(self._endpoint.matched_handles())
            self._known = {handle: known for handle, known in self._known.items() if handle in left}
        found = None if peer.guid[:2] == _CYCLONE else peer
        self._known[instance] = found
        return found

    def sort(self) -> tuple[bool, list[MatchedEndpoint]]:
        """Whether there is a peer of the same protocol, and those of another."""
        handles = self._endpoint.matched_handles()
        strangers = [peer for handle in handles if (peer := self.stranger(handle)) is not None]
        return len(strangers) < len(handles), strangers


class Strangers:
    """Warns of peers whose protocol is another, once of each and by name."""

    def __init__(self, graph: Callable[[], Graph], warn: Callable[[str], object]) -> None:
        self._graph = graph
        self._warn = warn
        self._seen: dict[bytes, float] = {}
        self._told: set[bytes] = set()

    def tell(self, peers: list[MatchedEndpoint], *, at_once: bool = False) -> None:
        """Warn of those not told of yet: when their node is known, after a second, or `at_once`."""
        for peer in peers:
            if peer.guid in self._told:
                continue
            now = time.monotonic()
            since = now - self._seen.setdefault(peer.guid, now)
            node = _node_of(self._graph(), peer)
            if node or at_once or since > _NAMED_AFTER_S:
                self._told.add(peer.guid)
                self._warn(_described(node, peer))

    def description(self, peer: MatchedEndpoint) -> str:
        """Who a stranger is, for people."""
        return _described(_node_of(self._graph(), peer), peer)


def _node_of(graph: Graph, peer: MatchedEndpoint) -> str:
    for node in graph.nodes():
        if peer.guid in node.readers or peer.guid in node.writers:
            return node.full_name
    return ""


def _described(node: str, peer: MatchedEndpoint) -> str:
    vendor = _VENDORS.get(peer.guid[:2], f"the DDS of vendor {peer.guid[0]:02x}.{peer.guid[1]:02x}")
    return f"node '{node}' ({vendor})" if node else f"a node of {vendor}"
