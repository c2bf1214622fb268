"""People who walk in a site, and the safety fields of robots near them. Import the names below from here.

`walking.py` is how they walk, `safety.py` what robots do about it, `people.py` who is there and where they go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.people.people import People as People
    from fleet_sim.warehouse.people.people import PeopleSettings as PeopleSettings
    from fleet_sim.warehouse.people.people import offer_people as offer_people
    from fleet_sim.warehouse.people.safety import SafetySettings as SafetySettings
    from fleet_sim.warehouse.people.walking import Law as Law
else:
    __all__, __getattr__, __dir__ = lazy(globals())
