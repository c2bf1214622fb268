"""TrafficBars: places that low robots pass through and wide ones do not, as something stands above them."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.entities.sim_object import SimObject
from fleet_sim.errors import InvalidValueError
from fleet_sim.sites.site import Site
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.control import TrafficControl
from fleet_sim.traffic.enrolment import not_enrolled
from fleet_sim.traffic.places import ManyPlaces, nodes_of


class TrafficBars:
    """Shelves on legs, for example: robots pass under them, and those that carry one keep off all others.

    `traffic.bars`; its methods raise StateError before a robot was enrolled, as the network depends on its size.
    """

    def __init__(self, site: Site, world: World, table: TrafficColumns, control: TrafficControl) -> None:
        self._site, self._world, self._table, self._control = site, world, table, control

    @property
    def radius(self) -> float:
        """The radius in m of the largest footprint that may take part: what a robot carries has to be within it."""
        return self._control.floor.radius

    def add(self, places: ManyPlaces) -> None:
        """Bar places to wide robots: these enter them only as their goals, while all others pass.

        Raises InvalidValueError for a planner that does not keep wide robots off.
        """
        self._control.bar(nodes_of(self._control.floor.network, self._site, places))

    def remove(self, places: ManyPlaces) -> None:
        """Let wide robots enter places again."""
        self._control.bar(nodes_of(self._control.floor.network, self._site, places), barred=False)

    def set_wide(self, agent: Agent, wide: bool = True) -> None:
        """Let a robot keep off barred places from now on, other than its goal, or no longer.

        Raises InvalidValueError for a robot that takes no part, and to make one wide that is driving.
        """
        self._control.widen(self._row(agent), wide=wide)

    def is_wide(self, agent: Agent) -> bool:
        """Return whether a robot keeps off barred places."""
        return bool(self._table.wide[self._row(agent)])

    def pass_under(self, objects: Sequence[SimObject]) -> None:
        """Let these be no obstacles while they stand by themselves."""
        self._control.floor.obstacles.pass_under([thing.object_id for thing in objects])

    def _row(self, agent: Agent) -> int:
        if not isinstance(agent, Agent) or agent.world is not self._world:
            raise InvalidValueError(f"expected a robot of this simulation, got {agent!r}")
        if not self._table.present[agent.row]:
            raise not_enrolled(self._world, agent.row)
        return agent.row
