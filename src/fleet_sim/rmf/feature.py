"""The key `slotcar` of a robot's entry, which `setup.cfg` declares: it connects slotcars to a simulation."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Rows
from fleet_sim.core.features import Feature, FeatureHost
from fleet_sim.core.pipeline import Phase, System
from fleet_sim.core.schema import KIND_AGENT
from fleet_sim.entities.drive import is_steered
from fleet_sim.errors import InvalidValueError
from fleet_sim.rmf.columns import SlotcarColumns
from fleet_sim.rmf.commands import CancelCharge, FollowWaypoints, PauseSlotcar, RequestCharge, SetSlotcarMode
from fleet_sim.rmf.requests import SlotcarRequests
from fleet_sim.rmf.settings import SlotcarSettings
from fleet_sim.rmf.slotcars import Slotcars


class SlotcarFeature(Feature[SlotcarSettings, SlotcarColumns]):
    """Slotcars: `slotcar:` in a robot's entry, `sim.features.use("slotcar")` is the Slotcars."""

    doc = "Lets it follow the paths of a fleet manager, as slotcars of Open-RMF do."
    settings = SlotcarSettings
    table = SlotcarColumns

    def start(self, host: FeatureHost, table: SlotcarColumns) -> Slotcars:
        """Decide before robots move."""
        slotcars = Slotcars(host.world, table)
        requests = SlotcarRequests(host.world, slotcars)
        host.pipeline.add(System("slotcars", Phase.UPDATE, slotcars.step), before="motion")
        host.dispatcher.handle(FollowWaypoints, requests.follow)
        host.dispatcher.handle(SetSlotcarMode, requests.set_mode)
        host.dispatcher.handle(PauseSlotcar, requests.pause)
        host.dispatcher.handle(RequestCharge, requests.charge)
        host.dispatcher.handle(CancelCharge, requests.cancel_charge)
        host.checkpoints.register_late("slotcars", slotcars)
        return slotcars

    def enter(self, part: Slotcars, table: SlotcarColumns, rows: Rows) -> None:
        """Take in robots; raises InvalidValueError for what cannot drive and turn."""
        world = part.world
        for row in np.asarray(rows).tolist():
            if world.kind[row] != KIND_AGENT or world.motion.law[row] == 0:
                raise InvalidValueError(f"{world.label(row)!r} cannot drive, so it is not a slotcar")
            if is_steered(world, row):
                raise InvalidValueError(f"{world.label(row)!r} is steered like a car; slotcars turn on the spot")

    def leave(self, part: Slotcars, table: SlotcarColumns, rows: Rows) -> None:
        """Let `rows` follow no path any more."""
        part.forget_paths(rows)


FEATURE = SlotcarFeature()
