"""/fleet/traffic/...: services that change places, hold robots, and tell who has which nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import Point

from fleet_sim.base.errors import FleetSimError, InvalidValueError, StateError
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.messages import ack_to_msg
from fleet_sim.warehouse import traffic as plans
from fleet_sim.world.commands import CommandAck
from fleet_sim_msgs.msg import Grant
from fleet_sim_msgs.srv import ChangePlaces as ChangePlacesService
from fleet_sim_msgs.srv import GetGrants
from fleet_sim_msgs.srv import HoldRobots as HoldRobotsService

if TYPE_CHECKING:
    from fleet_sim.warehouse.traffic.columns import TrafficColumns

NAME = "traffic"
MOST = 1000
"""Robots in one response."""


def places_from_request(request: Any, *, heights: bool = False) -> tuple[Any, ...]:
    """Return the places of a ChangePlaces request, as the command has them; points with their `heights`."""
    points = tuple((point.x, point.y, point.z) if heights else (point.x, point.y) for point in request.points)
    areas = tuple(tuple((corner.x, corner.y) for corner in area.points) for area in request.areas)
    if any(len(area) < 3 for area in areas):
        raise InvalidValueError("areas: a polygon has at least three points")
    return (*request.names, *map(int, request.nodes), *points, *areas)


class TrafficInterface(Interface):
    """Offers /fleet/traffic/places, robots and grants in simulations that have a traffic when the node starts."""

    own_rate = None

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        if bridge.sim.extensions.find_manager(NAME) is None:
            return
        bridge.serve(ChangePlacesService, "fleet/traffic/places", self._on_places)
        bridge.serve(HoldRobotsService, "fleet/traffic/robots", self._on_robots)
        bridge.serve(GetGrants, "fleet/traffic/grants", self._on_grants)

    async def _on_places(self, request: Any, response: Any) -> None:
        ack = await self.bridge.carry_out(lambda: self._change(request))
        response.changed = ack.value.tolist()

    def _change(self, request: Any) -> plans.ChangePlaces:
        # Loaded already where there is a traffic.
        from fleet_sim.warehouse.traffic.requests import OPERATIONS

        by_number = {getattr(request, name.upper()): name for name in OPERATIONS}
        if request.operation not in by_number:
            known = ", ".join(f"{name.upper()} ({number})" for number, name in by_number.items())
            raise InvalidValueError(f"operation: expected one of {known}, got {request.operation}")
        traffic = self.bridge.sim.extensions.find_manager(NAME)
        several = isinstance(traffic, plans.Traffic) and traffic.storeys.several
        name, places = by_number[request.operation], places_from_request(request, heights=several)
        return plans.ChangePlaces(operation=name, places=places, speed=request.speed, source="fleet/traffic/places")

    async def _on_robots(self, request: Any, response: Any) -> None:
        names, source = tuple(request.names), "fleet/traffic/robots"
        ack, reason = CommandAck(), ""
        try:
            ack = await self.bridge.carry_out(lambda: plans.HoldRobots(names=names, hold=request.hold, source=source))
        except FleetSimError as error:
            reason = str(error)
            self.bridge.reject(source, error)
        response.result = ack_to_msg(ack, self.bridge.time.last, reason)

    async def _on_grants(self, request: Any, response: Any) -> None:
        await self.bridge.read(lambda: self._tell(request, response))

    def _tell(self, request: Any, response: Any) -> None:
        from fleet_sim.warehouse.traffic.columns import TrafficColumns
        from fleet_sim.warehouse.traffic.requests import row_in_traffic

        sim = self.bridge.sim
        traffic = sim.extensions.find_manager(NAME)
        if not isinstance(traffic, plans.Traffic):
            raise StateError("there is no traffic in this simulation any more")
        if len(request.names) > MOST:
            raise InvalidValueError(f"names: expected at most {MOST}, got {len(request.names)}; ask several times")
        table = sim.features.table(NAME)
        assert isinstance(table, TrafficColumns)
        rows = traffic.rows
        response.count = len(rows)
        if request.names:
            chosen = [row_in_traffic(sim.world, table, name) for name in request.names]
        else:
            chosen = rows[request.first : request.first + MOST].tolist()
        if not len(rows):
            return
        granted = traffic.grants([sim.world.handles[row] for row in chosen])
        response.grants = [self._grant(traffic, table, grant) for grant in granted]
        closed, covered = traffic.blocked
        response.closed, response.covered = np.flatnonzero(closed).tolist(), np.flatnonzero(covered).tolist()

    def _grant(self, traffic: plans.Traffic, table: TrafficColumns, grant: plans.Grant) -> Grant:
        world, row = self.bridge.sim.world, grant.row
        return Grant(
            name=world.label(row),
            held=int(table.held[row]),
            waiting=bool(table.waiting[row]),
            arrived=bool(table.arrived[row]),
            goal=int(table.goal[row]),
            nodes=grant.nodes.tolist(),
            points=[Point(x=x, y=y) for x, y in traffic.floor.world_positions(grant.nodes).tolist()],
            next=grant.next,
            waits_for=[world.label(other) for other in grant.waits_for],
            reason=grant.reason,
            waited=world.clock.seconds(int(table.waited[row])),
        )
