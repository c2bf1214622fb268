"""ActionDependencyGraph: who may enter which node after whom, as a plan has it.

Hönig, Kiesel, Tinka, Durham and Ayanian, "Persistent and robust execution of MAPF schedules in warehouses" (2019): the
times of a plan are given up, and who passes a node before whom is kept. A late robot makes others wait; no two can meet
for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fleet_sim.arrays import AnyArray, Ints, Rows
from fleet_sim.errors import PlanError
from fleet_sim.traffic.columns import TrafficColumns
from fleet_sim.traffic.execution.building import CIRCLE, SOUND, START, TAKEN, append, first_fault, withdraw
from fleet_sim.traffic.execution.tracks import Tracks
from fleet_sim.traffic.execution.ways import Marks, Rotations, Small, Uses, Ways

NOBODY = -1


class Fault(NamedTuple):
    """Why a plan cannot be driven: a kind, the robot and another one by their places in the plan, and the step."""

    kind: int
    robot: int
    other: int
    step: int


class ActionDependencyGraph:
    """The ways of all robots, and the order in which they pass every node.

    An action is a move to the next node of a way. It depends on the robot's action before it (type 1) and on all uses
    of that node, and of what the lane claims, that the plan puts before this one (type 2). As a plan has one robot at a
    node at a time, counts of uses are the whole graph: it is built in one pass over the plan, whatever the number of
    robots. Dependencies lead back in the plan's time. So no robots wait for each other in a circle, unless the plan
    moves them round at once: they are granted that all together, see `rounds`. Where discs have no room for it such
    plans are refused.
    """

    def __init__(self, tracks: Tracks, capacity: int = 64) -> None:
        self.tracks = tracks
        self.version = 0
        """Counts how often ways were changed, other than by driving them."""
        nodes = len(tracks.positions)
        resources = max(nodes, int(tracks.claims.max(initial=-1)) + 1)
        self._most_claims = int(np.diff(tracks.begins).max(initial=0))
        self.uses = Uses(
            np.zeros(resources, np.int32),
            np.zeros(resources, np.int32),
            np.full(resources, NOBODY),
            np.zeros(resources, np.int32),
        )
        # Scratch of `first_fault`: who stands where before a step of the plan, and who uses what in it.
        self._standing, self._taken = np.full(resources, NOBODY), np.full(resources, NOBODY)
        self.ways = self._allocated(capacity, 16)
        self.rounds = _rounds(np.zeros((0, 1), np.int32), 0)

    def place(self, table: TrafficColumns, holders: Rows, rows: Rows, nodes: Ints) -> None:
        """Let robots in `rows` stand on `nodes` (N,) that nobody holds; what is planned for `holders` is dropped.

        Plans that were made without them could lead over these nodes.
        """
        # A way of one node: nothing ahead of it.
        self._reserve(table.capacity, 1)
        self.ways.nodes[rows, 0] = nodes
        table.behind[rows] = table.at[rows] = table.granted[rows] = 0
        table.length[rows] = 1
        self.drop(table, np.union1d(holders, rows))

    def drop(self, table: TrafficColumns, holders: Rows) -> None:
        """Drop all that is planned and not granted."""
        self.append(table, holders, holders, self.ends(table, holders)[:, None])

    def append(self, table: TrafficColumns, holders: Rows, rows: Rows, paths: Ints) -> None:
        """Replace what is planned but not granted by `paths` (R, T + 1), which begin where the grants of `rows` end.

        `holders` are all robots in the traffic, those without a path among them: they keep what they were granted.
        Raises PlanError, without a change, for paths that begin elsewhere or leave the lanes, two robots that use one
        node or crossing in a step, and robots that move round in a circle at once, each to the place of the next.
        """
        given = np.ascontiguousarray(paths, np.int64)
        # What is held of a way stays, and the new path comes after it.
        longest = int((table.granted[holders] - table.behind[holders]).max(initial=0)) + 2 + given.shape[1]
        self._reserve(table.capacity, longest)
        rounds = np.zeros(given.shape, np.int32)
        scratch = self._standing, self._taken
        fault = Fault(*first_fault(given, self.ends(table, rows), self.tracks, *scratch, rounds))
        if fault.kind != SOUND:
            # Left as it was when the fault was found.
            self._standing[:] = self._taken[:] = NOBODY
            raise PlanError(_told(given, fault))
        self.version += 1
        append(holders, rows, given, rounds, self.tracks, marks_of(table), self.ways, self.uses)
        self.rounds = _rounds(rounds, fault.robot)

    def forget(self, table: TrafficColumns, holders: Rows, row: int, *, stays: bool) -> None:
        """Take the robot in `row` out of the traffic; the others, `holders`, pass in their order without it.

        If it `stays` in the world, those with which it moved round stop with it, and those who follow it behind it;
        they go on when nothing is in their way.
        """
        self.version += 1
        self._leave_round(table, holders, row, stays)
        followers = holders[table.leader[holders] == row]
        table.leader[followers] = NOBODY
        table.halted[followers] = stays
        withdraw(holders, row, self.tracks, marks_of(table), self.ways, self.uses)
        table.behind[row] = table.at[row] = table.granted[row] = table.length[row] = 0

    def _leave_round(self, table: TrafficColumns, holders: Rows, row: int, stays: bool) -> None:
        """Take a robot out of its circle of robots that move round at once; the others move on one after the other.

        `stays`: the robot stands, so all the others stop too.
        """
        planned = self.ways.rounds[row, table.granted[row] + 1 : table.length[row]]
        # Without it the others leave one after the other.
        self.rounds.sizes[planned] = 0
        number, table.round[row] = int(table.round[row]), -1
        others = holders[(table.round[holders] == number) & (holders != row)]
        if number >= 0 and len(others):
            table.round[others] = int(others.min())
            if stays:
                table.halted[others] = True
                table.speed[others] = 0.0

    def held(self, table: TrafficColumns, rows: Rows) -> Ints:
        """Return the nodes (K,) that robots in `rows` stand on, drive from, or may drive to."""
        pieces = [self.ways.nodes[row, table.behind[row] : table.granted[row] + 1] for row in rows.tolist()]
        return np.concatenate([np.empty(0, np.int32), *pieces]).astype(np.int64)

    def ends(self, table: TrafficColumns, rows: Rows) -> Ints:
        """Return the nodes (N,) where the granted ways of `rows` end."""
        return self.ways.nodes[rows, table.granted[rows]].astype(np.int64)

    # ---- state -------------------------------------------------------------------------------------------------------

    def save(self) -> dict[str, AnyArray]:
        """Return copies of all arrays, for a checkpoint."""
        arrays = {**self.ways._asdict(), **self.uses._asdict(), "sizes": self.rounds.sizes}
        return {name: array.copy() for name, array in arrays.items()}

    def restore(self, saved: dict[str, AnyArray]) -> None:
        """Restore what `save` returned."""
        self.version += 1
        self.ways = Ways(*(saved[name].copy() for name in Ways._fields))
        self.uses = Uses(*(saved[name].copy() for name in Uses._fields))
        self.rounds = _rounds_of(saved["sizes"].copy())

    def _allocated(self, capacity: int, width: int) -> Ways:
        shape = (capacity, width)
        nodes, lanes, rounds = (np.zeros(shape, np.int32) for _ in range(3))
        needs = np.zeros((*shape, 1 + self._most_claims), np.int32)
        return Ways(nodes, lanes, needs, np.zeros(shape, np.bool_), rounds, np.full(shape, NOBODY))

    def _reserve(self, capacity: int, width: int) -> None:
        """Make room for `capacity` rows with ways of `width` nodes."""
        rows, columns = self.ways.nodes.shape
        if capacity > rows or width > columns:
            # Twice as long, so that a way that grows seldom moves.
            larger = self._allocated(max(capacity, rows), columns if width <= columns else 2 * width)
            pairs: Iterable[tuple[AnyArray, AnyArray]] = zip(self.ways, larger, strict=True)
            for old, new in pairs:
                new[:rows, :columns] = old
            self.ways = larger


def marks_of(table: TrafficColumns) -> Marks:
    """Return the columns that kernels need; they are valid until the table grows."""
    return Marks(table.behind, table.at, table.granted, table.length, table.digest)


def _rounds(numbers: Small, count: int) -> Rotations:
    """Return the rotations of a plan from their `numbers` (R, T + 1), of which there are `count`."""
    sizes = np.bincount(numbers.ravel(), minlength=count + 1).astype(np.int32) if count else np.zeros(1, np.int32)
    sizes[0] = 0
    return _rounds_of(sizes)


def _rounds_of(sizes: Small) -> Rotations:
    return Rotations(sizes, np.zeros(len(sizes), np.int32), np.zeros(len(sizes), np.int64))


def _told(paths: Ints, fault: Fault) -> str:
    """Return a sentence for people about why a plan cannot be added to what was granted."""
    robot, step = fault.robot, fault.step
    if fault.kind == START:
        return f"robot {robot} starts at node {paths[robot, 0]}, which is not where its granted way ends"
    move = f"robot {robot} moves from node {paths[robot, step - 1]} to {paths[robot, step]} at step {step}"
    if fault.kind == TAKEN:
        return f"{move}, which robot {fault.other} uses at the same time"
    if fault.kind == CIRCLE:
        return (
            f"{move}, in a circle of robots that all wait for the next to leave, and discs of this size have no room to"
            " move round at once; plan without rotations, or use smaller robots"
        )
    return f"{move}, where no lane leads"
