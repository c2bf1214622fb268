"""The interface of the node to Open-RMF, in scenarios that ask for it."""

from __future__ import annotations

from fleet_sim.ros.interface import Bridge, Interface, require_packages, speaks_rmf

PACKAGES = (
    *("rmf_fleet_msgs", "rmf_door_msgs", "rmf_lift_msgs", "rmf_charger_msgs"),
    *("rmf_building_map_msgs", "rmf_dispenser_msgs", "rmf_ingestor_msgs"),
)


class RmfInterface(Interface):
    """Speaks to Open-RMF where the setting `rmf.enabled` says so, or says nothing and there are slotcars."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._is_on = speaks_rmf(bridge)
        if not self._is_on:
            return
        require_packages(PACKAGES, "ros.rmf")
        # Imported here: who does not use them need not have these packages, nor wait for them.
        from fleet_sim.warehouse.rmf.topics import RmfTopics

        self._topics = RmfTopics(bridge, bridge.params.rmf)

    def has_work(self) -> bool:
        return self._is_on

    def receive(self) -> None:
        self._topics.receive()

    def publish(self, now: int) -> None:
        self._topics.publish(now)
