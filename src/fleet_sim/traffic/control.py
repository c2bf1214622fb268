"""TrafficControl: the state of the traffic, and what happens to it in each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Ints, Rows
from fleet_sim.core.drive_rules import DriveRule
from fleet_sim.core.saving.forms import Form
from fleet_sim.core.steering import IDLE
from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.sites.site import Site
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig
from fleet_sim.traffic.columns import STOPPED, TrafficColumns
from fleet_sim.traffic.enrolment import NEAR, enter, hindrance, not_enrolled, refused, turning_speeds
from fleet_sim.traffic.floor import Floor
from fleet_sim.traffic.planned_paths import PlannedPaths
from fleet_sim.traffic.planners.planner import NO_BARS
from fleet_sim.traffic.saved_forms import TrafficForms
from fleet_sim.traffic.settings import TrafficSettings


class InTraffic(DriveRule):
    """A robot in the traffic is driven by nothing else; actions send it by the traffic (a Conveyance)."""

    reason = "it takes part in the traffic; send it there (MoveTo with route=True), or let it leave the traffic first"

    def __init__(self, control: TrafficControl, table: TrafficColumns) -> None:
        self._control = control
        self._table = table

    def refuses(self, rows: Rows) -> Bools:
        """Return which of `rows` take part."""
        return np.asarray(self._table.present[rows])

    def drives(self, row: int) -> bool:
        """Return whether the robot in `row` takes part."""
        return bool(self._table.present[row])

    def send_to(self, row: int, point: Floats, heading: float | None, tolerance: float) -> None:
        """Send a robot to the node that is within `tolerance` m of `point` (2,); raises InvalidValueError."""
        network = self._control.floor.network
        node = int(network.node_at(point[None])[0])
        place = f"({point[0]:g}, {point[1]:g})"
        # Checked here and not in `send`: an action may ask for a point, the traffic knows only nodes.
        if node < 0:
            raise InvalidValueError(f"the goal {place} is at no node: in a wall, outside, or too narrow for the robot")
        off = trig.hypot_of(*(network.positions[node] - point).tolist())
        if off > max(tolerance, NEAR):
            x, y = network.positions[node].tolist()
            raise InvalidValueError(
                f"the goal {place} is {off:.3g} m from the node at ({x:g}, {y:g}); go there, or with that tolerance"
            )
        turned = np.array([np.nan if heading is None else heading])
        self._control.send(np.array([row]), np.array([node]), turned)

    def has_brought(self, row: int) -> bool:
        """Return whether the robot has arrived."""
        return bool(self._table.arrived[row])

    def stopped(self, rows: Rows, *, stay: bool) -> None:
        """Let robots stand that were told to stop; those whose action ended have no goal any more."""
        ours = rows[self._table.present[rows]]
        # A stop by a user holds the robot; one at the end of an action only ends its goal.
        if len(ours) and stay:
            self._control.hold(ours, STOPPED)
        elif len(ours):
            self._control.withdraw_goal(ours)


class TrafficControl:
    """Carries out what Traffic is told, and makes the steps of it; a participant in checkpoints."""

    def __init__(
        self, sim: MultiRobotSimulationCore, site: Site, table: TrafficColumns, settings: TrafficSettings
    ) -> None:
        self.rule = InTraffic(self, table)
        self._sim = sim
        self._world = sim.world
        self._site = site
        self._table = table
        self._settings = settings
        self._floor: Floor | None = None
        self.paths = PlannedPaths(
            self._world, table, lambda: None if self._floor is None else self._floor.execution.graph
        )

    # ---- parts -------------------------------------------------------------------------------------------------------

    @property
    def floor(self) -> Floor:
        """What depends on the network; raises StateError before there is one."""
        if self._floor is None:
            raise StateError("no robot takes part in the traffic yet, and its network depends on their size; enrol one")
        return self._floor

    @property
    def rows(self) -> Rows:
        """The rows of the robots that take part."""
        return NO_ROWS if self._floor is None else self._floor.execution.rows

    def nodes(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots stand on, or passed last."""
        graph = self.floor.execution.graph
        return np.asarray(graph.ways.nodes[rows, self._table.at[rows]], np.int64)

    def next_nodes(self, rows: Rows) -> Ints:
        """Return the nodes (N,) that robots are planned to pass next, or where they stand."""
        table, graph = self._table, self.floor.execution.graph
        return np.asarray(graph.ways.nodes[rows, np.minimum(table.at[rows] + 1, table.length[rows] - 1)], np.int64)

    # ---- who takes part ----------------------------------------------------------------------------------------------

    def enroll(self, rows: Rows) -> None:
        """Let robots take part; raises InvalidValueError, and then enrols none."""
        world, table = self._world, self._table
        for row in rows.tolist():
            reason = "it takes part already" if table.present[row] else hindrance(world, row)
            if reason:
                raise refused(world, row, reason)
        try:
            for row in rows.tolist():
                enter(world, table, row)
            self._take_places(rows)
        except BaseException:
            table.clear_rows(rows)
            # As if nothing had been tried: the columns are filled before places are known to be free.
            raise
        finally:
            world.version += 1
        for row in world.actions.busy(rows).tolist():
            world.actions.cancel_base(row, "the robot takes part in the traffic now")
        self.floor.timing.changed = True

    def _take_places(self, rows: Rows) -> None:
        world, table = self._world, self._table
        # The largest robot of the first ones decides for all: the network is made once.
        largest = float(table.radius[rows].max())
        floor = self._floor or Floor(self._sim, self._site, table, self._settings, self._settings.radius or largest)
        world.version += 1
        present = floor.execution.rows
        before = np.setdiff1d(present, rows)
        # Places of robots that stay, as well as of those that come together.
        held = floor.execution.graph.held(table, before)
        nodes = floor.network.node_at(world.position[rows, :2])
        for row, node in zip(rows.tolist(), nodes.tolist(), strict=True):
            if table.radius[row] > floor.radius * (1.0 + 1e-9):
                raise refused(world, row, f"its footprint of {table.radius[row]:g} m is larger than {floor.radius:g} m")
            at = world.position[row, :2].tolist()
            if node < 0 or np.abs(floor.network.positions[node] - at).max() > NEAR:
                raise refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where there is no node")
            if node in held or np.count_nonzero(nodes == node) > 1:
                raise refused(world, row, f"another robot has node {node}")
            if floor.gates.is_in_swing(node):
                raise refused(world, row, f"it stands at ({at[0]:g}, {at[1]:g}), where a door moves that is not open")
        floor.execution.stand(rows, nodes)
        floor.disturbances.enter(rows)
        self._floor = floor

    def remove(self, rows: Rows, reason: str) -> None:
        """Let robots take no part any more; emits traffic_left for each."""
        world, table, execution = self._world, self._table, self.floor.execution
        for row in rows.tolist():
            execution.graph.forget(table, execution.rows, row, stays=True)
            table.clear_rows(np.array([row]))
            world.version += 1
        world.rest(rows)
        self.floor.timing.changed = True
        # Actions that wait for an arrival hear that there will be none.
        self._sim.actions.arrived(rows)
        for row in rows.tolist():
            # When all are out, as a handler may enrol one of them again.
            world.events.emit("traffic_left", agent=world.handles[row], reason=reason)
            world.entity_events.emit(row, "traffic_left", reason=reason)

    def removed(self, rows: Rows) -> None:
        """Forget robots that are removed from the world."""
        table = self._table
        for row in rows[table.present[rows]].tolist():
            execution = self.floor.execution
            execution.graph.forget(table, execution.rows, row, stays=False)
            table.clear_rows(np.array([row]))
            execution.renew()
            self.floor.timing.changed = True

    # ---- where they go -----------------------------------------------------------------------------------------------

    def send(self, rows: Rows, nodes: Ints, headings: Floats) -> None:
        """Send robots to nodes and headings (N,) there, nan for any; all or none; raises InvalidValueError."""
        table, floor = self._table, self.floor
        if len(rows) != len(nodes):
            raise InvalidValueError(f"expected a node for each of {len(rows)} robots, got {len(nodes)}")
        # All is checked before the first goal is set, so that none is set if one is wrong.
        strange = np.flatnonzero(~table.present[rows])
        if len(strange):
            raise not_enrolled(self._world, int(rows[strange[0]]))
        off = np.flatnonzero((nodes < 0) | (nodes >= len(floor.network)))
        if len(off):
            raise InvalidValueError(f"node {nodes[off[0]]}: nodes are numbered from 0 to {len(floor.network) - 1}")
        ends = floor.execution.graph.ends(table, rows)
        # Regions take one comparison; a planner would search the whole floor before it gives up.
        apart = np.flatnonzero(floor.regions[ends] != floor.regions[nodes])
        if len(apart):
            row = int(rows[apart[0]])
            raise InvalidValueError(f"no way leads {self._world.label(row)!r} to node {nodes[apart[0]]}")
        turned = np.flatnonzero(~np.isnan(headings))
        fixed = turned[turning_speeds(self._world, rows[turned]) <= 0.0] if len(turned) else turned
        if len(fixed):
            raise InvalidValueError(f"{self._world.label(int(rows[fixed[0]]))!r} cannot turn to a heading")
        for row in self._world.actions.busy(rows).tolist():
            self._world.actions.cancel_base(row, "the traffic was told to send the robot elsewhere")
        table.goal[rows] = nodes
        table.heading[rows] = quaternions.wrapped(headings)
        table.arrived[rows] = False
        self.let_go(rows, STOPPED)

    def drive(self, rows: Rows, paths: Ints) -> None:
        """Let robots drive given paths; raises PlanError."""
        table, floor = self._table, self.floor
        strange = np.flatnonzero(~table.present[rows])
        # Other robots keep their plans.
        if len(strange):
            raise not_enrolled(self._world, int(rows[strange[0]]))
        floor.timing.drive(rows, paths)
        table.goal[rows] = paths[:, -1]
        table.arrived[rows] = False

    def withdraw_goal(self, rows: Rows) -> None:
        """Take the goals of robots away: they stand where their grants end."""
        self._table.goal[rows] = -1
        self._table.arrived[rows] = False
        self.floor.timing.changed = True

    def hold(self, rows: Rows, reason: int) -> None:
        """Let robots brake and stand, for a reason."""
        self._table.held[rows] |= np.uint8(reason)
        self.floor.timing.changed = True

    def let_go(self, rows: Rows, reason: int) -> None:
        """Let robots drive on that stand for this reason, unless they stand for others too."""
        self._table.held[rows] &= ~np.uint8(reason)
        self.floor.timing.changed = True

    def close(self, nodes: Ints, *, closed: bool = True) -> None:
        """Close nodes, or open them."""
        self.floor.closed[nodes] = closed
        self.floor.open_up()

    def bar(self, nodes: Ints, *, barred: bool = True) -> None:
        """Bar nodes to wide robots, or no longer; raises InvalidValueError for a planner that does not keep to it."""
        floor = self.floor
        if barred and not floor.timing.planner.keeps_bars:
            raise InvalidValueError(f"planner {self._settings.planner!r} {NO_BARS}")
        floor.timing.barred[nodes] = barred
        floor.open_up()

    def widen(self, row: int, *, wide: bool = True) -> None:
        """Let the robot in `row` keep off barred nodes from now on, or no longer; raises InvalidValueError."""
        table, floor = self._table, self.floor
        ahead = floor.execution.graph.held(table, np.array([row]))[1:]
        if wide and (floor.timing.barred[ahead].any() or table.speed[row] > 0.0 or table.progress[row] > 0.0):
            label = self._world.label(row)
            raise InvalidValueError(f"{label!r} cannot become wide while it drives; let it stop at its goal before")
        table.wide[row] = wide
        floor.timing.changed = True

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Plan if it is time to, and move the robots; emits traffic_arrived for those that stand at their goals."""
        floor = self._floor
        if floor is None or not len(floor.execution.rows):
            return
        self._keep_others_off()
        displaced = floor.execution.displaced()
        if len(displaced):
            # Before anything is granted: a robot that was carried away must not keep its nodes.
            self.remove(displaced, "it was brought elsewhere")
        floor.execution.hold_unfit(self.rule)
        self._disturb(floor)
        floor.look()
        floor.ask()
        floor.timing.step(floor.blocked)
        arrived = floor.execution.advance(dt)
        if len(arrived):
            self._tell_arrived(arrived)

    def _disturb(self, floor: Floor) -> None:
        gone, changed = floor.disturbances.step(floor.execution.rows)
        if len(gone):
            self._sim.remove_rows(gone)
        floor.timing.changed |= changed

    def _keep_others_off(self) -> None:
        """End what drives a robot past the rule, such as an action or a controller in Python."""
        world, rows = self._world, self.rows
        strays = rows[world.motion.control[rows] != IDLE]
        if len(strays):
            for row in world.actions.busy(strays).tolist():
                world.actions.cancel_base(row, InTraffic.reason)
            world.waypoints.discard(world.motion, strays)
            world.motion.control[strays] = IDLE

    def _tell_arrived(self, rows: Rows) -> None:
        world = self._world
        self._sim.actions.arrived(rows)
        if not (world.events.has_handlers("traffic_arrived") or len(world.entity_events)):
            return
        nodes = self.nodes(rows)
        for row, node in zip(rows.tolist(), nodes.tolist(), strict=True):
            # An earlier handler may have removed it.
            if self._table.present[row]:
                world.events.emit("traffic_arrived", agent=world.handles[row], node=node)
                world.entity_events.emit(row, "traffic_arrived", node=node)

    # ---- figures and state -------------------------------------------------------------------------------------------

    def figures(self) -> dict[str, Any]:
        """Return what happened so far."""
        table, rows = self._table, self.rows
        seconds = self._world.clock.seconds
        floor = self._floor
        counts = {} if floor is None else {**floor.timing.figures(), **floor.disturbances.counts._asdict()}
        return {
            "robots": len(rows),
            "waiting_s": seconds(int(table.waited[rows].sum())),
            "driven_m": float(table.driven[rows].sum()),
            **counts,
        }

    def forms(self) -> Iterator[Form[Any]]:
        """Yield how the traffic is written in state files."""
        return TrafficForms(self._floor_for).forms()

    def _floor_for(self, radius: float) -> Floor:
        return self._floor or Floor(self._sim, self._site, self._table, self._settings, radius)

    def save(self) -> Any:
        """Return the state outside the columns, for a checkpoint."""
        floor = self._floor
        if floor is None:
            return None
        graph, timing = floor.execution.graph.save(), floor.timing.save()
        return floor, floor.closed.copy(), graph, timing, floor.disturbances.counts

    def restore(self, saved: Any) -> None:
        """Restore what `save` returned."""
        if saved is None:
            self._floor = None
            return
        self._floor, closed, graph, timing, counts = saved
        floor = self.floor
        floor.closed[:] = closed
        floor.execution.graph.restore(graph)
        floor.execution.renew()
        floor.timing.restore(timing)
        floor.disturbances.counts = counts
        changed = floor.timing.changed
        # Closed places are looked up again, as they may have changed between the two moments.
        floor.look()
        floor.open_up()
        floor.timing.changed = changed
