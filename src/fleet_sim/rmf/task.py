"""SlotcarTask: what numbers cannot say of a slotcar."""

from __future__ import annotations

from fleet_sim.rmf.states import Waypoint


class SlotcarTask:
    """What numbers cannot say of a slotcar: its task, the waypoints that are left, and the action it performs."""

    def __init__(self) -> None:
        self.task = ""
        self.left: list[Waypoint] = []
        self.told: list[Waypoint] = []
        """What is left of the path as others see it: the old one, while a new one began too far away."""
        self.action = ""
        self.last: Waypoint | None = None
