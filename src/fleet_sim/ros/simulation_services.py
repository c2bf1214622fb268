"""Base of the services of the whole simulation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fleet_sim.ros.interface import Bridge, Interface

Handler = Callable[[Any, Any], Awaitable[Any]]
"""Fills in a response to a request, and returns it."""


class SimulationServices(Interface):
    """Serves sim/<name> for each of its `services`."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        for name, (kind, answer) in self.services().items():
            bridge.serve(kind, f"sim/{name}", answer)

    def services(self) -> dict[str, tuple[Any, Handler]]:
        """Return the types and handlers of the services by name."""
        raise NotImplementedError
