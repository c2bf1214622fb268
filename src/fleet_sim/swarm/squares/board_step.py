"""The steps of a board: what `stepping.py` does in one world, for all squares at once.

A group whose parts all serve several worlds is one group of all squares. Of other groups each world's own is stepped,
one world after the other, on the same columns. Motion, collisions and goals are one call each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fleet_sim.arrays import NO_ROWS
from fleet_sim.motion.system import MotionSystem
from fleet_sim.swarm.agents import Group
from fleet_sim.swarm.metric import Metric
from fleet_sim.swarm.squares.apart import ApartInSquares
from fleet_sim.swarm.squares.board import Board
from fleet_sim.swarm.squares.board_group import BoardGroup, give_back_parts
from fleet_sim.swarm.squares.finite_squares import FiniteSquares
from fleet_sim.swarm.stepping import command, halt_at_goals, move, sense
from fleet_sim.swarm.traces import follow_traces
from fleet_sim.swarm.world import RectangularWorld


class BoardStepper:
    """Steps `worlds`, which are alike. `finish` leaves each as if it had made its steps alone."""

    def __init__(self, worlds: Sequence[RectangularWorld]) -> None:
        self._worlds = worlds
        for world in worlds:
            world.begin_steps()
        self._board = Board(worlds)
        self._apart = ApartInSquares(self._board)
        self._finite = FiniteSquares(self._board, worlds)
        self._together: list[BoardGroup] = []
        """Groups of all squares at once: in turn, one for each agent of a world."""
        self._each: list[list[Group]] = []
        """Groups that are stepped world by world: for each, that of every world."""
        self._in_turn = worlds[0].config.update == "in_turn"
        self._make_groups()
        rows = [group.rows for group in self._together]
        rows += [self._board.rows_of([group.rows for group in groups]) for groups in self._each]
        self._movers = np.concatenate([NO_ROWS, *rows])
        self._motion = MotionSystem(np.unique(self._movers))
        self._traced = any(getattr(group.config, "trace_length", 0) for group in worlds[0].groups)
        self._told = 0

    def _make_groups(self) -> None:
        """Join the groups of all worlds that can be asked at once; the others are asked world by world."""
        first = self._worlds[0]
        groups = {group.index: [world.groups[group.index] for world in self._worlds] for group in first.groups}
        # In turn, agent 1 of every world moves before agent 2 of any: one group for each place in the order.
        if self._in_turn:
            for agent in first.population:
                number = agent.group.number_of(agent.row)
                self._together.append(BoardGroup(self._board, groups[agent.group.index], number))
            return
        for group in first.population_groups:
            if len(group) and serves_squares(group):
                self._together.append(BoardGroup(self._board, groups[group.index]))
            elif len(group):
                self._each.append(groups[group.index])

    # ---- stepping ----------------------------------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Make `steps` steps of every world."""
        metrics = self._metrics(steps)
        for world in self._worlds:
            world.in_progress = True
        for step in range(steps):
            self._step([metric for first, metric in metrics if step >= first])
        for world in self._worlds:
            world.in_progress = False

    def _metrics(self, steps: int) -> list[tuple[int, Metric]]:
        """Return every metric with the step from which on its observations count at the end."""
        found = []
        for world in self._worlds:
            for metric in world.metrics:
                # As in a step of one world: a metric that was appended to the list by hand has not met its world yet.
                if metric.world is None:
                    metric.attach_world(world)
                counted = metric.steps_counted()
                found.append((0 if counted is None else max(0, steps - counted), metric))
        return found

    def _step(self, metrics: Sequence[Metric]) -> None:
        """Make one step of all worlds, in the order of systems that each alone would have."""
        board, columns = self._board, self._board.columns
        columns.moved[:] = False
        # Parts that are asked world by world may look at the time of their world.
        if self._each:
            self._tell()
        if self._in_turn:
            for one in self._together:
                # The order of `Stepper.take_turn`: who comes later sees where the earlier ones are now.
                move(columns, command(one, _called), board.dt)
                self._settle(one.rows)
                sense(one, _called)
        for group in self._groups():
            command(group, _called)
        self._motion.run(columns, board.dt)
        # In turn, everybody was kept apart after his own move.
        if not self._in_turn:
            self._settle(self._movers)
        for group in self._groups():
            sense(group, _called)
        self._finite.run(self._tell)
        self._observe(metrics)
        board.steps += 1
        columns.clock.tick += 1

    def _groups(self) -> list[Group]:
        """Return the groups that are stepped at once, and those that are stepped world by world."""
        return [] if self._in_turn else [*self._together, *(group for groups in self._each for group in groups)]

    def _settle(self, rows: Any) -> None:
        self._apart.keep_apart(rows)
        halt_at_goals(self._board, rows)

    def _observe(self, metrics: Sequence[Metric]) -> None:
        if self._traced:
            follow_traces([*self._together, *(group for groups in self._each for group in groups)], self._board.steps)
        if metrics:
            self._tell()
        for metric in metrics:
            metric.calculate()

    def _tell(self) -> None:
        """Tell the worlds which step it is: parts of one world ask it."""
        # Counted from the board, so that telling twice in a step does no harm.
        made = self._board.steps - self._worlds[0].steps
        if made:
            for world in self._worlds:
                world.count_steps(made)

    def finish(self) -> None:
        """Leave every world as if it had made its steps alone; the stepper can be used no more."""
        self._tell()
        for group in self._together:
            group.give_back()
        # A group of one world may stand in several groups here, one for each of its agents; its parts are given back
        # once.
        for members in {group.index: group.members for group in self._together}.values():
            groups = [group for group in self._together if group.index == members[0].index]
            give_back_parts(groups, members)
        self._finite.finish()
        self._board.close()


def serves_squares(group: Group) -> bool:
    """Return whether one group can stand for groups like this one of several worlds."""
    return all(part.serves_squares for part in (group.controller, *group.sensors) if part is not None)


def _called(what: str, function: Any, *args: Any) -> Any:
    return function(*args)
