"""Disturbances: what goes wrong in a hall. Import the names below from here.

The section `disturbances` of a scenario is a list of entries, each with a `kind`. Who adds a kind writes a class and a
line in `_ours` of `section.py` (other packages: `DISTURBANCES.register`, or an entry point of `fleet_sim.disturbance`):

    @dataclass
    class FlatTyre(DisturbanceKind):
        '''Robots drive at a crawl.'''

        pace: float = setting(0.2, above=0.0, high=1.0, doc="Of their speed limits.")

        def effect(self, event: Event) -> Effect:
            error = RobotError("flat_tyre", "warning", "a tyre is flat")
            return Effect(pace=self.pace, errors=(error,))

Its fields are keys of its entries, beside those that all have (`EntrySettings` in `section.py`: at, per_hour, lasts,
robots, area, stations, doors, lifts, name); which of the targets it has says its `aim`. When it begins and ends, for
whom and for how long, is decided for all kinds in `disturbances.py`, from the seed. What holds for a robot meanwhile is
an `Effect`; the columns of `world/conditions.py` have what all effects on it come to, and every other part reads these:
a new effect is a field of `Effect`, a column, and a line in `Disturbances._fold`. A kind that acts on more than columns
overrides `begin` and `end`; one that changes with time has `steps`, and overrides `step`. Each is given `Disturbed`
objects: the simulation, the row of the robot, the event (`event.memory` keeps plain values; it is saved), and a key for
random numbers: `uniforms(at.key, object_ids, at.event.count, lane)`; lanes from 10 on are yours.

    disturbances = sim.features.use("disturbances")
    name = disturbances.begin("breakdown", robots=["amr7"], lasts=120)
    disturbances.end(name)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.disturbances.disturbances import Disturb as Disturb
    from fleet_sim.warehouse.disturbances.disturbances import Disturbances as Disturbances
    from fleet_sim.warehouse.disturbances.disturbances import EndDisturbances as EndDisturbances
    from fleet_sim.warehouse.disturbances.kind import Aim as Aim
    from fleet_sim.warehouse.disturbances.kind import DisturbanceKind as DisturbanceKind
    from fleet_sim.warehouse.disturbances.kind import Disturbed as Disturbed
    from fleet_sim.warehouse.disturbances.kind import Effect as Effect
    from fleet_sim.warehouse.disturbances.kind import Event as Event
    from fleet_sim.warehouse.disturbances.section import DISTURBANCES as DISTURBANCES
    from fleet_sim.warehouse.disturbances.section import EntrySettings as EntrySettings
    from fleet_sim.world.conditions import RobotError as RobotError
else:
    __all__, __getattr__, __dir__ = lazy(globals())
