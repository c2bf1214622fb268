"""The entry point of the feature, which `setup.cfg` declares: robots that a master control drives."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.arrays import Rows
from fleet_sim.core.acknowledgement import CommandAck
from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.errors import StateError
from fleet_sim.vda5050.columns import VehicleColumns
from fleet_sim.vda5050.commands import VehicleMessage
from fleet_sim.vda5050.desk import VehicleDesk
from fleet_sim.vda5050.settings import Vda5050RobotSettings

NAME = "vda5050"


class VehicleBooth:
    """The place of the desk in a simulation, there before the desk itself: robots are spawned first."""

    def __init__(self) -> None:
        self.desk: VehicleDesk | None = None

    def receive(self, command: VehicleMessage) -> CommandAck:
        """Carry out a VehicleMessage; raises StateError where no section has opened a desk."""
        if self.desk is None:
            raise StateError(
                "no vehicle listens here; add a section 'vda5050' to the scenario, or --vda5050 to the run"
            )
        return self.desk.receive(command)


class VehicleFeature(Feature[Vda5050RobotSettings, VehicleColumns]):
    """What the entry of a robot says about its vehicle; the section of the scenario does all else."""

    doc = "What a master control knows it by."
    settings = Vda5050RobotSettings
    table = VehicleColumns

    def start(self, host: FeatureHost, table: VehicleColumns) -> VehicleBooth:
        """Take in messages; the section adds the rest."""
        booth = VehicleBooth()
        host.dispatcher.handle(VehicleMessage, booth.receive)
        return booth

    def orders(self, part: VehicleBooth, table: VehicleColumns, rows: Rows) -> Sequence[str]:
        """Return the ids of the orders of the master control, kept until it sends the next one, as in its states."""
        if part.desk is None:
            return ()
        pilots = part.desk.pilots
        return [pilots[row].vehicle.state.order_id if row in pilots else "" for row in rows.tolist()]


FEATURE = VehicleFeature()
