"""Traffic: sends many robots through a site at once, along paths that a planner makes for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import Bools, Floats, Ints, Rows, as_float
from fleet_sim.core.world import World
from fleet_sim.entities.agent import Agent
from fleet_sim.errors import InvalidValueError
from fleet_sim.sites.site import Site
from fleet_sim.traffic.bars import TrafficBars
from fleet_sim.traffic.columns import SERVING, STOPPED, TrafficColumns
from fleet_sim.traffic.control import TrafficControl
from fleet_sim.traffic.enrolment import not_enrolled
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.places import ManyPlaces, Place, node_of, nodes_of
from fleet_sim.traffic.settings import TrafficSettings


class Traffic:
    """The robots of `sim` that drive in `site` by common plans: `sim.get_manager("traffic")`.

    Robots are enrolled, then sent to places. They drive on lanes of the network, in the order that the planner chose at
    every node, and stop where they have to wait; they never touch each other, whatever their speeds, delays and pauses.
    The network is made for the first robots that are enrolled.
    """

    def __init__(
        self, site: Site, settings: TrafficSettings, world: World, table: TrafficColumns, control: TrafficControl
    ) -> None:
        """See `offer_traffic`, which makes the parts."""
        self.site, self.settings = site, settings
        self._world, self._table, self._control = world, table, control
        self.bars = TrafficBars(site, world, table, control)
        """What some robots pass under, and others must drive around."""
        self.planned = control.paths
        """Where the last plan leads robots: `planned.paths_of(rows)`."""

    # ---- who takes part ----------------------------------------------------------------------------------------------

    @property
    def network(self) -> Network:
        """The nodes and moves; raises StateError before a robot was enrolled, as they depend on its size."""
        return self._control.floor.network

    @property
    def robots(self) -> list[Agent]:
        """The robots that take part, in the order they were spawned."""
        return [self._world.handles[row] for row in self.rows.tolist()]

    @property
    def rows(self) -> Rows:
        """Their rows in the columns of the world."""
        return self._control.rows

    def enroll(self, agents: Agent | Sequence[Agent]) -> None:
        """Let `agents` take part from now on; each stands at a node. Raises InvalidValueError, and then enrols none."""
        given = [agents] if isinstance(agents, Agent) else list(agents)
        for agent in given:
            self._check_own(agent)
        self._control.enroll(np.array([agent.row for agent in given], np.int64))

    def leave(self, agents: Agent | Sequence[Agent]) -> None:
        """Let `agents` take no part any more. They stop at once, where they are; others drive around them."""
        given = [agents] if isinstance(agents, Agent) else list(agents)
        for row in [self._row(agent) for agent in given]:
            self._control.remove(np.array([row]), "it was asked to")

    def takes_part(self, agent: Agent) -> bool:
        """Return whether `agent` takes part."""
        return bool(self._table.present[agent.row])

    # ---- where they go -----------------------------------------------------------------------------------------------

    def send(self, agent: Agent, place: Place, heading: float | None = None) -> None:
        """Send a robot to a place; a stopped one drives on. Takes effect with the next plan; its actions end.

        It has arrived when it stands there, turned to `heading` in rad if one is given. Raises InvalidValueError for a
        robot that takes no part, a place that is not at a node, and one that no way leads to, UnknownNameError for a
        station that there is not.
        """
        turned = np.array([np.nan if heading is None else as_float(heading, "heading in rad", low=-1e5, high=1e5)])
        self._control.send(np.array([self._row(agent)]), np.array([self.node_of(place)]), turned)

    def send_rows(self, rows: Rows, nodes: Ints) -> None:
        """Send the robots in `rows` (N,) to `nodes` (N,), all or none; raises as `send` does."""
        self._control.send(np.asarray(rows, np.int64), np.asarray(nodes, np.int64), np.full(len(rows), np.nan))

    def node_of(self, place: Place) -> int:
        """Return the node at a place; raises InvalidValueError where there is none."""
        return node_of(self.network, self.site, place)

    def goal_of(self, agent: Agent) -> int | None:
        """Return the node that a robot was sent to, None before it was."""
        goal = int(self._table.goal[self._row(agent)])
        return None if goal < 0 else goal

    def has_arrived(self, agent: Agent) -> bool:
        """Return whether a robot has stood at the goal that it has now."""
        return bool(self._table.arrived[self._row(agent)])

    def is_waiting(self, agent: Agent) -> bool:
        """Return whether a robot stands because others pass first, or its way is blocked."""
        return bool(self._table.waiting[self._row(agent)])

    def goals(self, rows: Rows) -> Ints:
        """Return the goals (N,) of robots in `rows`, -1 for none."""
        return np.asarray(self._table.goal[rows])

    def nodes(self, rows: Rows, *, ahead: bool = False) -> Ints:
        """Return the nodes (N,) that robots in `rows` stand on, or passed last; `ahead`: those planned to be next."""
        return self._control.next_nodes(rows) if ahead else self._control.nodes(rows)

    # ---- stopping ----------------------------------------------------------------------------------------------------

    def stop(self, agent: Agent) -> None:
        """Let a robot brake and stand, also between nodes, until `resume` or `send`; others drive around it."""
        self._control.hold(np.array([self._row(agent)]), STOPPED)

    def resume(self, agent: Agent) -> None:
        """Let a stopped robot drive on to its goal."""
        self._control.let_go(np.array([self._row(agent)]), STOPPED)

    def pause_rows(self, rows: Rows) -> None:
        """Let robots in `rows` (N,) stand until `continue_rows`, as at a goal while they are served.

        They keep their place in the order: unlike around a stopped robot, others wait for them.
        """
        self._control.hold(np.asarray(rows, np.int64), SERVING)

    def continue_rows(self, rows: Rows) -> None:
        """Let robots that were paused drive on."""
        self._control.let_go(np.asarray(rows, np.int64), SERVING)

    def drive_rows(self, rows: Rows, paths: Ints) -> None:
        """Let robots in `rows` (R,) drive `paths` (R, T + 1), nodes at each step; the last ones become their goals.

        The order in which they pass each node is that of the paths, whatever the speeds. The policy `given` makes no
        plans that would replace them. Raises PlanError, without a change, for paths that robots may not drive.
        """
        self._control.drive(np.asarray(rows, np.int64), np.asarray(paths, np.int64))

    def withdraw_goal(self, agent: Agent) -> None:
        """Let a robot stop at the next node that it can, with no goal any more; it gives way to others there."""
        self._control.withdraw_goal(np.array([self._row(agent)]))

    def close(self, places: ManyPlaces) -> None:
        """Close places: no robot enters these nodes, except those that cannot stop before any more."""
        self._control.close(self._nodes_of(places))

    def open(self, places: ManyPlaces) -> None:
        """Open closed places."""
        self._control.close(self._nodes_of(places), closed=False)

    def _nodes_of(self, places: ManyPlaces) -> Ints:
        return nodes_of(self.network, self.site, places)

    @property
    def blocked(self) -> tuple[Bools, Bools]:
        """Which nodes (N,) are closed, by `close` or by schedule; and on which, or before which, an obstacle is."""
        floor = self._control.floor
        return floor.closed | floor.scheduled, floor.covered.copy()

    # ---- figures -----------------------------------------------------------------------------------------------------

    def figures(self) -> Mapping[str, Any]:
        """Return what happened so far: plans and refusals with the latest reason, planning times in ms, waiting."""
        return self._control.figures()

    @property
    def planning_times(self) -> Floats:
        """How long the latest plans took (K,), in s of wall time."""
        return self._control.floor.timing.times

    # ---- helpers -----------------------------------------------------------------------------------------------------

    def _row(self, agent: Agent) -> int:
        self._check_own(agent)
        if not self._table.present[agent.row]:
            raise not_enrolled(self._world, agent.row)
        return agent.row

    def _check_own(self, agent: object) -> None:
        if not isinstance(agent, Agent) or agent.world is not self._world:
            raise InvalidValueError(f"expected a robot of this simulation, got {agent!r}")
