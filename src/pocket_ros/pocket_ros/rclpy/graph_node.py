"""A node as the graph knows it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class GraphNode:
    """A node of some participant and the guids of its endpoints."""

    name: str
    namespace: str
    enclave: str = "/"
    readers: set[bytes] = field(default_factory=set)
    writers: set[bytes] = field(default_factory=set)

    @property
    def full_name(self) -> str:
        return f"{self.namespace.rstrip('/')}/{self.name}"
