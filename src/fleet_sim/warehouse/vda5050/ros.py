"""The node and a master control: the parameter that names the broker, and what came of its messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import ParameterDescriptor

from fleet_sim.base.errors import ConfigError
from fleet_sim.ros.interface import Bridge, Diagnosis, Interface

if TYPE_CHECKING:
    from fleet_sim.warehouse.vda5050.desk import VehicleBooth, VehicleDesk

NAME = "vda5050"

MOST_NAMED = 20
"""Reasons of refusals that are named, the most frequent first."""


class VehiclesInterface(Interface):
    """Connects vehicles to the broker of the parameter `vda5050`; tells in /diagnostics what came in, and what did not.

    Raises ConfigError for a broker that cannot be meant, or one beside `read_only`.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        text = "Broker of the master control that drives the vehicles, mqtt://host or mqtts://user@host; empty: none."
        url, ca = self._once("vda5050", text), self._once("vda5050_ca", "File of certificates that sign the broker's.")
        if url:
            self._connect(url, ca or None)
        bridge.diagnostics[NAME] = self._diagnose

    def _once(self, name: str, text: str) -> str:
        descriptor = ParameterDescriptor(description=text, read_only=True)
        value: str = self.bridge.node.declare_parameter(name, "", descriptor).value
        return value

    def _connect(self, url: str, ca: str | None) -> None:
        from fleet_sim.warehouse.vda5050.address import PASSWORD, BrokerAddress
        from fleet_sim.warehouse.vda5050.connection import connect_vehicles
        from fleet_sim.warehouse.vda5050.desk import offer_vehicles

        if self.bridge.gateway.permissions.read_only:
            raise ConfigError("a master control drives, and read_only forbids it: leave one of them out", path=NAME)
        if BrokerAddress.parse(url, ca).password_in_url:
            # Every node of the network may read parameters.
            raise ConfigError(f"others can read parameters: give the password in {PASSWORD}", path=NAME)
        if self._desk is None:
            offer_vehicles(self.bridge.sim)
        connect_vehicles(self.bridge.sim, url, ca=ca)

    @property
    def _desk(self) -> VehicleDesk | None:
        features = self.bridge.sim.features
        if NAME not in features.used:
            return None
        booth: VehicleBooth = features.use(NAME)
        return booth.desk

    def _diagnose(self) -> Diagnosis | None:
        """Return the counters, where there are vehicles; something is wrong where some are not connected."""
        desk = self._desk
        if desk is None:
            return None
        figures = desk.figures()
        offline = figures["vehicles"] - figures.get("online", figures["vehicles"])
        return f"{offline} vehicles are not connected" if offline else "", _lines(figures)


def _lines(figures: dict[str, Any]) -> dict[str, int]:
    """Return figures as keys and numbers: sums of those by topic or reason, and the most frequent of them."""
    lines: dict[str, int] = {}
    for key, value in figures.items():
        if not isinstance(value, dict):
            lines[key] = value
            continue
        lines[key] = sum(value.values())
        frequent = sorted(value.items(), key=lambda item: item[1], reverse=True)[:MOST_NAMED]
        lines |= {f"{key}: {reason}": number for reason, number in frequent}
    return lines
