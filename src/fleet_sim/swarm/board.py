"""The board: several worlds stepped together, the columns of each a slice of those of all.

A square is a block of rows. The arrays of a world become slices of those of the board, so what is computed for all
squares at once is in every world, under its own names and ids, and what looks at one world sees nothing of the others.
Coordinates stay each world's own: squares lie on top of each other, and nothing here compares rows of two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import StateError
from fleet_sim.base.kernels import compiled_loop, compiled_step, is_usable
from fleet_sim.facade.update import LARGEST, PERIOD
from fleet_sim.robots.motion.system import MotionSystem
from fleet_sim.swarm.agent_config import Team
from fleet_sim.swarm.agents import Controller, Group, Sensor, follow_traces
from fleet_sim.swarm.crowd import NO_TEAM, Crowd, GroupMemory, SwarmColumns
from fleet_sim.swarm.parameters import Component
from fleet_sim.swarm.separation import Bodies, all_pairs, forget_contacts, is_busy, separate
from fleet_sim.swarm.stepping import command, halt_at_goals, move, sense
from fleet_sim.swarm.swarm_state import Metric, SwarmState, WorldRandom
from fleet_sim.swarm.swarm_world import SwarmWorld
from fleet_sim.swarm.world import RectangularWorld
from fleet_sim.world.clock import Clock, Keys
from fleet_sim.world.columns import ColumnTable, numbers_of, part_tables, stack_tables
from fleet_sim.world.world import World


class Board(SwarmState):
    """The state of `worlds` alike, as parts see it that serve all of them: everybody, in the order of the worlds.

    Walls, goals and teams are those of each of them. `close` gives the worlds arrays of their own again.
    """

    def __init__(self, worlds: Sequence[SwarmWorld]) -> None:
        # Not the constructor of a state: that makes the columns of a simulation, and these are those of many.
        first = self._first = worlds[0]
        self.worlds = worlds
        self.squares = len(worlds)
        self.capacity = first.columns.capacity
        self.config, self.goals, self.keys, self.steps = first.config, first.goals, set(), first.steps
        self.in_progress = True
        self._cached = {}
        self.forget_cached()
        self._codes: dict[Team | None, int] = {None: NO_TEAM}
        clock = Clock(first.dt)
        clock.tick = first.columns.clock.tick
        self.columns = World(clock, capacity=self.capacity * self.squares)
        self.swarm = self.columns.add_table("swarm", SwarmColumns)
        for whole, parts in self._tables():
            stack_tables(whole, parts)
        # A search makes many steps of many worlds, so loading compiled code pays from the first one on.
        self.columns.compiled = all(world.sim.params.compiled_code != "never" for world in worlds) and is_usable()
        # Poses are written for all squares at once, and each world tells its engine later, as after any step.
        self.columns.in_step = True
        self._everyone = self.rows_of([world.everyone.rows for world in worlds])
        self.collidable = self.rows_of([world.collidable_rows for world in worlds])

    def _tables(self) -> list[tuple[ColumnTable, list[ColumnTable]]]:
        """Return the tables that a step of a world writes, each with those of the worlds."""
        return [
            (self.columns, [world.columns for world in self.worlds]),
            (self.columns.motion, [world.columns.motion for world in self.worlds]),
            (self.swarm, [world.swarm for world in self.worlds]),
        ]

    def close(self) -> None:
        """Give every world arrays of its own."""
        for _, parts in self._tables():
            part_tables(parts)

    def rows_of(self, rows: Sequence[Rows]) -> Rows:
        """Return the rows (N,) on the board of `rows`, those of each world, in their order."""
        return np.concatenate([index * self.capacity + own for index, own in enumerate(rows)])

    @property
    def everyone(self) -> Crowd:
        """The populations of all worlds as arrays, one after the other."""
        return Crowd(self.columns, self.swarm, self._everyone)

    @property
    def polygons(self) -> list[Floats]:
        """The polygons (K, 2) of objects that agents collide with, in each world."""
        return self._first.polygons

    def team_code(self, team: Team | None) -> int:
        """Return the number that stands for `team` in the arrays of every world; -1 for None."""
        if team not in self._codes:
            # Worlds alike have heard of the same teams in the same order, and all have to hear of this one.
            (self._codes[team],) = {world.team_code(team) for world in self.worlds}
        return self._codes[team]

    @property
    def rng(self) -> WorldRandom:
        """Refuse: a stream belongs to one world. See `Group.random_key` for numbers of each agent."""
        raise StateError("there is no random stream of several worlds; draw by `AgentDraws`")


# Keeping agents apart in many squares at once: what `separation.py` does in one world, to the bit. Most squares have
# nothing to do in most steps. One look over all pairs finds the others, and only these are pushed.


class ApartInSquares:
    """Keeps the discs of every square of a board apart; all squares have as many."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._rows = board.collidable.reshape(board.squares, -1)
        self._radii = board.swarm.agent_radius[self._rows]
        self._first, self._second = all_pairs(self._rows.shape[1])
        self._movers: dict[int, _Movers] = {}

    def keep_apart(self, movers: Rows) -> None:
        """Do what `separation.keep_apart` does after `movers` of all squares moved; the array is the same each time."""
        board = self._board
        forget_contacts(board, movers)
        if not self._rows.size or not len(movers):
            return
        known = self._movers.get(id(movers))
        if known is None or known.rows is not movers:
            known = self._movers[id(movers)] = self._about(movers)
        squares = self._busy(known)
        if not len(squares):
            return
        rows = self._rows[squares].reshape(-1)
        centres, movable_mask = board.columns.position[rows, :2], known.movable_mask[squares]
        bodies = Bodies(rows, centres, self._radii[squares].reshape(-1), movable_mask.reshape(-1))
        # Square by square, each with its pairs in their order: sums over several pushes come out as in one world.
        shift = np.arange(len(squares))[:, None] * self._rows.shape[1]
        separate(board, bodies, ((shift + known.first).reshape(-1), (shift + known.second).reshape(-1)))

    def _about(self, movers: Rows) -> _Movers:
        """Return what does not change from step to step: nobody comes or goes, and nobody is given other settings."""
        moving_mask = np.zeros(self._board.columns.capacity, np.bool_)
        moving_mask[movers] = True
        movable_mask = moving_mask[self._rows] & ~self._board.swarm.grounded[self._rows]
        # Of the first world. Worlds alike have the same ones.
        ones = movable_mask[0]
        pairs = (ones[self._first] | ones[self._second]).nonzero()[0]
        return _Movers(movers, movable_mask, self._first.take(pairs), self._second.take(pairs))

    def _busy(self, about: _Movers) -> Rows:
        """Return the squares in which there may be something to do."""
        board, squares = self._board, len(self._rows)
        if board.polygons:
            return np.arange(squares)
        (width, height), walls = board.config.size, board.config.collide_walls
        moving_mask = about.movable_mask[0]
        if board.columns.compiled:
            busy_mask = np.zeros(squares, np.bool_)
            found = _mark_busy(
                board.columns.position, self._rows, self._radii, moving_mask, width, height, walls, busy_mask
            )
            return busy_mask.nonzero()[0] if found else NO_ROWS
        position, moves, look = numbers_of(board.columns.position), moving_mask.tolist(), cast("Any", is_busy.in_python)
        each = zip(self._rows.tolist(), self._radii.tolist(), strict=True)
        busy = [look(position, rows, radii, moves, width, height, walls) for rows, radii in each]
        return np.flatnonzero(busy)


class _Movers(NamedTuple):
    """Who moves: rows, and which of the bodies may be pushed (S, B); the pairs (P,) of bodies to be looked at."""

    rows: Rows
    movable_mask: Bools
    first: Rows
    second: Rows


@compiled_loop
def _mark_busy(
    position: Floats,
    rows: Rows,
    radii: Floats,
    moving_mask: Bools,
    width: float,
    height: float,
    walls: bool,
    busy_mask: Bools,
) -> int:
    """Set `busy_mask` (S,) of squares in which bodies `rows` (S, B) overlap, as `is_busy`; return how many."""
    found = 0
    for square in range(len(rows)):
        busy_mask[square] = is_busy(position, rows[square], radii[square], moving_mask, width, height, walls)
        found += busy_mask[square]
    return found


# Groups alike of several worlds as one group, with one controller and one sensor in place of theirs.


Part = TypeVar("Part", bound=Component)


class BoardGroup(Group):
    """The agents of `members`, one group of each world, or with `number` the agent with that number of each group.

    It has copies of what they remember, which `give_back` returns.
    """

    def __init__(self, board: Board, members: Sequence[Group], number: int | None = None) -> None:
        first = members[0]
        self.members = members
        """The group of every world that it stands for."""
        self._number = number
        self._slice = slice(None) if number is None else slice(number, number + 1)
        self.count = len(first.rows[self._slice])
        """The number of its agents in each world."""
        rows = board.rows_of([member.rows[self._slice] for member in members])
        GroupMemory.__init__(self, board.columns, board.swarm, rows)
        # No handles: nobody may ask an agent of a board for anything, as it is one of many worlds.
        self.world, self.origin, self.agents, self.is_object = board, self, [], False
        self.index, self.kind, self.config = first.index, first.kind, first.config
        self.acts_directly = first.acts_directly
        self.readings = {index: self._joined([m.readings[index] for m in members]) for index in first.readings}
        for name in first.state:
            self.state[name] = self._joined([member.state[name] for member in members])
            self._defaults[name] = first.default_of(name)
        self.controller: Controller | None = None
        if first.controller is not None:
            self.controller = _one_for(first.controller, [member.controller for member in members], self.count)
        self.sensors: list[Sensor] = [
            _one_for(sensor, [member.sensors[index] for member in members], self.count)
            for index, sensor in enumerate(first.sensors)
        ]
        self._keys: dict[str, Keys] = {}

    def _joined(self, values: Sequence[AnyArray]) -> AnyArray:
        return np.concatenate([known[self._slice] for known in values])

    @property
    def numbers(self) -> Ints:
        """The number of each agent in the group of its own world (N,)."""
        # Numbers count within a world, so that who is first in its own world is first here too.
        own = np.arange(self.count) if self._number is None else np.array([self._number])
        return np.tile(own, len(self.members))

    def random_key(self, purpose: str) -> Keys | int:
        """Return the key (N,) that `purpose` has in the world of each agent."""
        known = self._keys.get(purpose)
        if known is None:
            keys = [member.columns.random.key(purpose) for member in self.members]
            known = self._keys[purpose] = np.repeat(np.array(keys, np.uint64), self.count)
        return known

    def give_back(self) -> None:
        """Give every group what its agents remember now, and their last readings."""
        for square, member in enumerate(self.members):
            own = slice(square * self.count, (square + 1) * self.count)
            for name, values in self.state.items():
                # Through the group's own `column`, which makes what did not exist when the board was made.
                kept = member.column(name, values.shape[1:], dtype=values.dtype, default=self.default_of(name))
                kept[self._slice] = values[own]
            group = member if self._number is None else member.only(self._number)
            for index, readings in self.readings.items():
                group.note(index, readings[own].copy())


def give_back_parts(groups: Sequence[BoardGroup], members: Sequence[Group]) -> None:
    """Give the controllers and sensors of `members`, one group of each world, what those of `groups` keep themselves.

    There is one of `groups`, or one for each agent of a world, in the order of their turns.
    """
    for square, member in enumerate(members):
        parts: list[Component | None] = [member.controller, *member.sensors]
        for place, part in enumerate(parts):
            wholes = [[group.controller, *group.sensors][place] for group in groups]
            if part is not None:
                part.from_squares([whole for whole in wholes if whole is not None], square, groups[0].count)


def _one_for(first: Part, parts: Sequence[Part | None], count: int) -> Part:
    whole = first.for_squares([part for part in parts if part is not None], count)
    # `for_squares` of users' own could return anything.
    assert isinstance(whole, type(first))
    return whole


# The guard on broken poses for all squares at once: who has one is looked at by the guard of its own world.


class FiniteSquares:
    """Does what each world's `FiniteGuard` does, in as many steps: good poses are written down at the same ones."""

    def __init__(self, board: Board, worlds: Sequence[RectangularWorld]) -> None:
        self._board = board
        self._worlds = worlds
        # Rows beyond the last living one hold nothing, so looking at them would only take time.
        self._top = 1 + max(int(world.columns.rows.max()) for world in worlds)
        self._good: tuple[Floats, Floats] | None = None

    def run(self, tell: Callable[[], None]) -> None:
        """Look at all poses; before a world's own guard mends one, `tell` lets the worlds know which step it is."""
        columns, squares = self._board.columns, self._board.squares
        whole = columns.position, columns.orientation
        tame = columns.compiled and _is_tame(*whole, self._board.capacity, self._top, LARGEST)
        if tame and columns.clock.tick % PERIOD:
            return
        positions = columns.position.reshape(squares, -1, 3)[:, : self._top]
        orientations = columns.orientation.reshape(squares, -1, 4)[:, : self._top]
        # As in the guard of one world: a sum and a largest number are spoilt by a single broken one.
        sums = np.add.reduce(positions, axis=(1, 2))
        largest = np.maximum.reduce(orientations, axis=(1, 2))
        good_mask = (np.abs(sums) <= LARGEST) & (largest <= 2.0)
        if np.count_nonzero(good_mask) < squares:
            tell()
            for square in (~good_mask).nonzero()[0].tolist():
                # The guard goes back to the last good pose it knows, which has been written down here meanwhile.
                self._give(square)
                self._worlds[square].sim.finite.run(0.0)
        if columns.clock.tick % PERIOD == 0:
            self._good = positions.copy(), orientations.copy()

    def finish(self) -> None:
        """Give every guard the poses that were written down last."""
        for square in range(len(self._worlds)):
            self._give(square)

    def _give(self, square: int) -> None:
        if self._good is not None:
            self._worlds[square].sim.finite.write_down(self._good[0][square], self._good[1][square])


@compiled_step
def _is_tame(positions: Floats, orientations: Floats, capacity: int, top: int, largest: float) -> bool:
    """Return whether no square can hold a broken pose among its first `top` rows of `capacity`; False says nothing.

    Sizes of positions are added, so that the order of the sum cannot matter: of half the largest, it is far off.
    """
    for begin in range(0, len(positions), capacity):
        total = 0.0
        for row in range(begin, begin + top):
            total += abs(positions[row, 0]) + abs(positions[row, 1]) + abs(positions[row, 2])
            for axis in range(4):
                # Written so that NaN is not tame.
                if not orientations[row, axis] <= 2.0:
                    return False
        if not total <= 0.5 * largest:
            return False
    return True


# The steps of a board: what `stepping.py` does in one world, for all squares at once. A group whose parts all serve
# several worlds is one group of all squares. Of other groups each world's own is stepped, one world after the other,
# on the same columns. Motion, collisions and goals are one call each.


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
