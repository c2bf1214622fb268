"""Work cells: dispensers load robots, ingestors unload them.

The key `workcell` of an object's entry, which `setup.cfg` declares as a feature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fleet_sim.base.arrays import Bools, Floats, Ints, Rows
from fleet_sim.base.errors import FleetSimError, InvalidValueError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.limits import LARGEST_SIZE
from fleet_sim.base.params import Mode
from fleet_sim.base.settings import Checked, setting, time_setting
from fleet_sim.warehouse.equipment.fittings import STATIC, fittings_mask
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.commands import Command, CommandAck, command
from fleet_sim.world.features import Feature, FeatureHost
from fleet_sim.world.pipeline import Phase, System
from fleet_sim.world.schema import KIND_OBJECT, NO_ROW
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import FeatureRows, World


class WorkcellKind(Mode):
    """What a work cell does."""

    DISPENSER = "dispenser"
    INGESTOR = "ingestor"


@dataclass
class WorkcellSettings(Checked):
    """A work cell: a dispenser gives the object beside it to a robot, an ingestor takes what a robot brings."""

    kind: WorkcellKind = setting(WorkcellKind.DISPENSER, doc="What it does.")
    reach: float = setting(1.0, low=0.0, high=LARGEST_SIZE, unit="m", doc="Objects this near are beside it.")
    keep: float = time_setting(
        5.0, doc="After this time an ingestor sends an object back to the dispenser that it came from."
    )


@command("serve_robot")
class ServeRobot(Command):
    """Let a work cell give its object to the nearest of `robots`, or take what that brings.

    The same `request` again is answered again, and nothing else happens.
    """

    feature: ClassVar[str] = "workcell"

    cell: str
    robots: tuple[str, ...]
    request: str = ""


class WorkcellColumns(FeatureColumns):
    """What each work cell has."""

    ingests: Bools = column(bool, writer="spawning", doc="is an ingestor, not a dispenser")
    reach: Floats = column(float, default=1.0, unit="m", writer="spawning")
    keep: Floats = column(float, unit="s", writer="spawning", doc="until an ingestor sends an object back")
    looked: Bools = column(bool, writer="Workcells", doc="has looked for its object")
    item: Ints = column(int, default=NO_ROW, writer="Workcells", reference=True, doc="its object, wherever that is")
    filled: Bools = column(bool, writer="Workcells", doc="has its object")
    returns_at: Floats = column(float, unit="s", writer="Workcells", doc="when an ingestor sends it back")
    home: Floats = column(float, (3,), unit="m", frame="world", writer="Workcells", doc="where it found its object")
    taken_from: Ints = column(int, default=NO_ROW, writer="Workcells", reference=True, doc="dispenser of its object")


MOST_REMEMBERED = 10_000
"""Requests whose outcome a cell remembers."""


class Workcells(FeatureRows[WorkcellColumns], Stateful):
    """Serves robots when it is asked to. Each outcome is the event `robot_served`, also of a request that is repeated:
    `cell`, `request`, `success` and `reason`."""

    STATE = ("_outcomes",)

    def __init__(self, world: World, table: WorkcellColumns) -> None:
        super().__init__(world, table)
        self._outcomes: dict[int, dict[str, str]] = {}
        world.on_remove.append(self._removed)

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(self, dt: float) -> None:
        """Let dispensers find the objects beside them, and ingestors send theirs back."""
        # Both look in each step, as things may be carried off or brought by hand.
        table, world = self.table, self.world
        for row in self.rows.tolist():
            item = int(table.item[row])
            if table.ingests[row]:
                if table.filled[row] and world.clock.time >= table.returns_at[row]:
                    self._send_back(row, item)
            elif not table.looked[row]:
                self._look(row)
            elif not table.filled[row] and item != NO_ROW and world.parent[item] == NO_ROW:
                table.filled[row] = self._gap(row, item) <= table.reach[row]

    def _look(self, row: int) -> None:
        """Find the nearest object beside a dispenser."""
        table, world = self.table, self.world
        table.looked[row] = True
        item = self._beside(row, float(table.reach[row]))
        if item != NO_ROW:
            table.item[row], table.filled[row] = item, True
            table.home[row] = world.position[item]

    def _beside(self, row: int, reach: float) -> int:
        """Return the nearest object within `reach` m that can be carried and is not; NO_ROW where there is none."""
        world = self.world
        rows = world.rows
        mask = (world.kind[rows] == KIND_OBJECT) & (world.collision_mode[rows] != STATIC) & world.pickable[rows]
        mask &= (world.parent[rows] == NO_ROW) & ~self.table.present[rows] & ~fittings_mask(world)[rows]
        found = rows[mask]
        if not len(found):
            return NO_ROW
        offsets = world.position[found] - world.position[row]
        gaps = np.sqrt((offsets * offsets).sum(axis=1))
        nearest = int(gaps.argmin())
        return int(found[nearest]) if gaps[nearest] <= reach else NO_ROW

    def _gap(self, first: int, second: int) -> float:
        offset = self.world.position[first] - self.world.position[second]
        return float(np.sqrt((offset * offset).sum()))

    def _send_back(self, row: int, item: int) -> None:
        """Send the object of an ingestor back to its dispenser; one that came from none stays."""
        table, world = self.table, self.world
        table.filled[row] = False
        source = int(table.taken_from[row])
        table.item[row] = table.taken_from[row] = NO_ROW
        # Somebody may have taken it from the cell, or spawned it without a dispenser.
        if item != NO_ROW and source != NO_ROW and world.parent[item] == NO_ROW:
            one = np.array([item])
            world.place(one, table.home[[source]], world.orientation[one], preserve_velocity=False)

    # ---- requests ----------------------------------------------------------------------------------------------------

    def serve(self, order: ServeRobot) -> CommandAck:
        """Carry out a ServeRobot."""
        world, time = self.world, self.world.clock.time
        row = int(world.index.rows_named([order.cell])[0])
        if row < 0 or not self.table.present[row]:
            return order.ack(time, (), {order.cell: "there is no work cell of that name"})
        known = self._outcomes.setdefault(row, {})
        # Requests are repeated until they are answered; each is carried out once.
        if order.request not in known:
            try:
                (self._ingest if self.table.ingests[row] else self._dispense)(row, order.robots)
                known[order.request] = ""
            except FleetSimError as error:
                known[order.request] = str(error)
            # The oldest outcomes are forgotten first.
            while len(known) > MOST_REMEMBERED:
                del known[next(iter(known))]
        reason = known[order.request]
        details = {"cell": world.handles[row], "request": order.request, "success": not reason, "reason": reason}
        world.events.emit("robot_served", **details)
        if reason:
            return order.ack(time, (), {order.cell: reason})
        return order.ack(time, (order.cell,))

    def _dispense(self, row: int, robots: tuple[str, ...]) -> None:
        """Put the object of a dispenser on the nearest of `robots`; raises InvalidValueError if it cannot."""
        table, world = self.table, self.world
        item = int(table.item[row])
        if not table.filled[row] or item == NO_ROW:
            raise InvalidValueError("it has nothing to dispense")
        robot = self._nearest(row, robots)
        # On top of what the robot is, by the boxes around both.
        top = float(world.half_extents[robot, 2] + world.half_extents[item, 2])
        if not world.handles[robot].attach_object(world.handles[item], relative_pose=Pose((0.0, 0.0, top))):
            raise InvalidValueError(f"{world.label(item)!r} cannot be carried")
        table.filled[row] = False

    def _ingest(self, row: int, robots: tuple[str, ...]) -> None:
        """Take what the nearest of `robots` carries, or what stands beside it, and note from which dispenser it came.

        Raises InvalidValueError where the cell is full or nothing is brought.
        """
        table, world = self.table, self.world
        if table.filled[row]:
            raise InvalidValueError("it is full")
        robot = self._nearest(row, robots)
        carried = world.handles[robot].get_attached_objects()
        # A robot without arms has it beside it.
        item = carried[0].row if carried else self._beside(robot, float(table.reach[row]))
        if item == NO_ROW:
            raise InvalidValueError(f"{world.label(robot)!r} brings nothing")
        if carried:
            world.handles[robot].detach_object(carried[0])
        one = np.array([item])
        world.place(one, world.position[[row]], world.orientation[[row]], preserve_velocity=False)
        cells = self.rows
        # The dispenser that it came from gets it back.
        sources = cells[~table.ingests[cells] & (table.item[cells] == item)]
        table.item[row], table.filled[row] = item, True
        table.taken_from[row] = int(sources[0]) if len(sources) else NO_ROW
        table.returns_at[row] = world.clock.time + table.keep[row]

    def _nearest(self, row: int, robots: tuple[str, ...]) -> int:
        rows = self.world.index.rows_named(list(robots))
        rows = rows[rows >= 0]
        if not len(rows):
            raise InvalidValueError("there is no robot to serve")
        offsets = self.world.position[rows] - self.world.position[row]
        return int(rows[int((offsets * offsets).sum(axis=1).argmin())])

    def _removed(self, rows: Rows) -> None:
        for row in rows.tolist():
            self._outcomes.pop(row, None)


class WorkcellFeature(Feature[WorkcellSettings, WorkcellColumns]):
    """Dispensers and ingestors: `workcell:` in an object's entry, `sim.features.use("workcell")` is the Workcells."""

    doc = "Makes it a dispenser or an ingestor of objects that robots carry."
    settings = WorkcellSettings
    table = WorkcellColumns

    def values(self, settings: WorkcellSettings) -> Mapping[str, Any]:
        """Return the columns of a work cell with `settings`."""
        return {"ingests": settings.kind is WorkcellKind.INGESTOR, "reach": settings.reach, "keep": settings.keep}

    def start(self, host: FeatureHost, table: WorkcellColumns) -> Workcells:
        """Look before robots move."""
        cells = Workcells(host.world, table)
        host.pipeline.add(System("workcells", Phase.UPDATE, cells.step), before="motion")
        host.dispatcher.handle(ServeRobot, cells.serve)
        host.checkpoints.register_late("workcells", cells)
        return cells

    def details(self, table: WorkcellColumns, row: int) -> Sequence[tuple[str, str]]:
        """Say whether it has its object."""
        return [("ingestor" if table.ingests[row] else "dispenser", "full" if table.filled[row] else "empty")]


FEATURE = WorkcellFeature()
