"""The versions of the standard that vehicles speak: their tables, and the number that stands in their topics."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.vda5050.wire import factsheets, orders, states
from fleet_sim.vda5050.wire.shapes import WireShape


@dataclass(frozen=True)
class WireVersion:
    """One version. `number` stands in the header of messages, `topic` in the names of topics."""

    number: str
    topic: str
    order: WireShape
    instant_actions: WireShape
    connection: WireShape
    state: WireShape
    visualization: WireShape
    factsheet: WireShape
    zone_set: WireShape | None = None
    responses: WireShape | None = None

    @property
    def is_third(self) -> bool:
        """Whether it is of the third generation, whose rules for errors and for instant actions differ."""
        return self.topic == "v3"

    @property
    def incoming(self) -> dict[str, WireShape]:
        """The messages that a vehicle listens to, by topic."""
        shapes = {"order": self.order, "instantActions": self.instant_actions}
        if self.zone_set is not None and self.responses is not None:
            shapes |= {"zoneSet": self.zone_set, "responses": self.responses}
        return shapes

    def body(self, topic: str) -> WireShape:
        """Return the shape of a message that vehicles send, without the header, which is added when it is sent."""
        shapes = {"state": self.state, "visualization": self.visualization, "factsheet": self.factsheet}
        return shapes[topic].but(removed=(*orders.HEADER, "referenceStateHeaderId"))

    def accepts(self, version: str) -> bool:
        """Return whether a message with `version` in its header is meant for this one: the major number counts."""
        return version.split(".")[0] == self.number.split(".")[0]


VERSIONS: dict[str, WireVersion] = {
    "2.0": WireVersion(
        *("2.0.0", "v2", orders.ORDER_20, orders.INSTANT_ACTIONS_20),
        *(states.CONNECTION_20, states.STATE_20, states.VISUALIZATION_20, factsheets.FACTSHEET_20),
    ),
    "2.1": WireVersion(
        *("2.1.0", "v2", orders.ORDER_21, orders.INSTANT_ACTIONS_21),
        *(states.CONNECTION_20, states.STATE_21, states.VISUALIZATION_20, factsheets.FACTSHEET_20),
    ),
    "3.0": WireVersion(
        *("3.0.0", "v3", orders.ORDER_30, orders.INSTANT_ACTIONS_30),
        *(states.CONNECTION_30, states.STATE_30, states.VISUALIZATION_30, factsheets.FACTSHEET_30),
        *(orders.ZONE_SET_30, orders.RESPONSES_30),
    ),
}
