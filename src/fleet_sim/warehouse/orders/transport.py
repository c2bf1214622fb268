"""Transport: how robots get to places, by routes of their own or in the traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Rows
from fleet_sim.base.errors import UnknownNameError
from fleet_sim.base.geometry import Pose
from fleet_sim.base.kernels import compiled_step
from fleet_sim.base.params import ActionStatus, CollisionMode
from fleet_sim.base.registry import saved
from fleet_sim.robots.actions.drive import MoveTo
from fleet_sim.robots.agent import Agent
from fleet_sim.robots.sim_object import SimObject
from fleet_sim.robots.spawn_params import ShapeParams, SimObjectSpawnParams
from fleet_sim.robots.spawning import remove, spawn_many
from fleet_sim.warehouse.orders.order import NO_ORDER, OrderColumns, RobotState, Spent
from fleet_sim.warehouse.orders.places import NO_PLACE, Spot, Timers
from fleet_sim.warehouse.orders.settings import LoadSettings
from fleet_sim.warehouse.traffic.traffic import Traffic
from fleet_sim.world.columns import named_columns
from fleet_sim.world.conditions import conditions_of
from fleet_sim.world.schema import NO_ROW
from fleet_sim.world.state_files import Stateful
from fleet_sim.world.world import World, energy_columns


@saved
class DriveEnd(NamedTuple):
    """A drive has ended: at its place (`reason` is empty), or elsewhere for a reason."""

    row: int
    reason: str = ""


class Transport(Stateful):
    """Sends robots to places. Each drive has one outcome, unless the robot is stopped, sent elsewhere or removed.

    Robots that take part in the traffic drive by its plans. Each of the others drives by itself, along its route around
    the walls, and does not look out for others. `traffic` returns the traffic, None as long as there is none: a
    scenario may name its sections in any order.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_goals", "_arrivals", "_drives", "_ends")

    def __init__(self, world: World, traffic: Callable[[], Traffic | None]) -> None:
        self._world, self._traffic = world, traffic
        self._goals: dict[int, int] = {}
        """The nodes that robots of the traffic drive to."""
        self._arrivals: list[DriveEnd] = []
        self._drives: dict[int, MoveTo] = {}
        """The drives of the others."""
        self._ends: list[DriveEnd] = []
        world.events.note("action_completed", self._ended)
        world.events.note("traffic_arrived", self._arrived)
        world.events.note("traffic_left", self._left_traffic)

    def send(self, row: int, point: Spot, heading: float | None = None) -> None:
        """Let a robot drive to `point` in m; raises InvalidValueError where the traffic does not lead there.

        One of the traffic that turns to where it drives turns there to `heading` in rad, if one is given. What it drove
        to before is forgotten.
        """
        # It may have driven by a route of its own before it took part.
        self._cancel(row)
        # Forgotten before it is sent: where that raises, it drives nowhere.
        self._goals.pop(row, None)
        traffic, agent = self._taking_part(row)
        if traffic is not None:
            node = traffic.node_of(point)
            traffic.send(agent, node, heading if traffic.turns(agent) else None)
            self._goals[row] = node
            return
        # A place is for being there: turning to some heading would only take time.
        storeys = len(point) == 3
        height = point[2] if storeys else float(self._world.position[row, 2])
        action = MoveTo(Pose((*point[:2], height)), 0.0, False, route=True, keep_height=storeys)
        self._drives[row] = action
        self._world.actions.add(row, action)

    def stop(self, row: int) -> None:
        """Let a robot that was sent somewhere stop where it is; in the traffic it gives way to others."""
        self._cancel(row)
        self._goals.pop(row, None)
        traffic, agent = self._taking_part(row)
        if traffic is not None:
            # `hold` has made it stand there: from now on it gives way again.
            traffic.resume(agent)
            traffic.withdraw_goal(agent)

    def hold(self, row: int) -> None:
        """Let a robot that has arrived stay there until it is sent elsewhere or stopped."""
        traffic, agent = self._taking_part(row)
        if traffic is not None:
            traffic.stop(agent)

    def forget(self, row: int) -> None:
        """Forget a robot that is about to be removed."""
        self._drives.pop(row, None)
        self._goals.pop(row, None)
        self._arrivals = [outcome for outcome in self._arrivals if outcome.row != row]
        self._ends = [outcome for outcome in self._ends if outcome.row != row]

    @property
    def looks(self) -> bool:
        """Whether it looks in each tick how far robots are."""
        return False

    @property
    def has_outcomes(self) -> bool:
        """Whether drives have ended since they were taken last."""
        return bool(self._arrivals or self._ends)

    def take_outcomes(self) -> list[DriveEnd]:
        """Return the drives that have ended since the last call, those of the traffic first."""
        taken, self._arrivals, self._ends = self._arrivals + self._ends, [], []
        return taken

    def _taking_part(self, row: int) -> tuple[Traffic | None, Agent]:
        traffic, agent = self._traffic(), self._world.handles[row]
        return (traffic if traffic is not None and traffic.takes_part(agent) else None), agent

    def _cancel(self, row: int) -> None:
        action = self._drives.pop(row, None)
        if action is not None:
            action.cancel("its order changed")

    def _ended(self, agent: Agent, action: object, status: ActionStatus) -> None:
        drive = self._drives.get(agent.row)
        if drive is None or drive is not action:
            return
        del self._drives[agent.row]
        arrived = status is ActionStatus.COMPLETED
        self._ends.append(DriveEnd(agent.row, "" if arrived else drive.error_message or "the drive ended"))

    def _arrived(self, agent: Agent, node: int) -> None:
        # It may have arrived where it was to go before this goal.
        if self._goals.get(agent.row) == node:
            del self._goals[agent.row]
            self._arrivals.append(DriveEnd(agent.row))

    def _left_traffic(self, agent: Agent, reason: str) -> None:
        if self._goals.pop(agent.row, None) is not None:
            self._arrivals.append(DriveEnd(agent.row, f"it left the traffic: {reason}"))

    def close(self) -> None:
        """Stop listening to the simulation."""
        self._world.events.off("action_completed", self._ended)
        self._world.events.off("traffic_arrived", self._arrived)
        self._world.events.off("traffic_left", self._left_traffic)


# Loads: boxes that robots carry, and that stay at stations for a while.


NO_LOAD = -1
TAKEN_AWAY = "taken_away"


class Loads:
    """Makes, hands over and removes boxes. A box is named by its `object_id`, as rows are used again."""

    def __init__(self, world: World, settings: LoadSettings, timers: Timers) -> None:
        self._world = world
        self._settings = settings
        self._timers = timers

    def lift(self, robot: int, top: float, name: str, mass: float) -> int:
        """Put a new box of `mass` kg on the robot in row `robot`, `top` m above its base; returns its id."""
        world, height = self._world, self._settings.size[2]
        carrier = world.handles[robot]
        place = carrier.get_pose() * Pose((0.0, 0.0, top + 0.5 * height))
        position, orientation = (np.array([part]) for part in place.as_position_orientation())
        # A name of the user's own may be the same; the box then goes without one.
        label = f"load_{name}"
        names = [None if world.index.has_name(label) else label]
        (box,) = spawn_many(world, SimObject, self._params(mass), position, orientation, names)
        carrier.attach_object(box, keep_world_pose=True)
        load: int = box.object_id
        return load

    def put_down(self, load: int, point: Spot) -> None:
        """Put a box on the floor at `point` in m, from where it is taken away later; a box that is gone is none."""
        row = self.row(load)
        if row == NO_ROW:
            return
        world, box = self._world, self._world.handles[row]
        holder = int(world.parent[row])
        floor = point[2] if len(point) == 3 else 0.0
        # Somebody may have taken it off the robot: then it stays where it is.
        if holder != NO_ROW:
            world.handles[holder].detach_object(box, drop_pose=Pose((*point[:2], floor + 0.5 * self._settings.size[2])))
        self._timers.add(world.clock.tick + world.clock.ticks(self._settings.remain), TAKEN_AWAY, load)

    def take_away(self, load: int) -> None:
        """Remove a box, unless somebody has picked it up or removed it."""
        row = self.row(load)
        if row != NO_ROW and self._world.parent[row] == NO_ROW:
            remove(self._world, np.array([row]))

    def carried_by(self, load: int) -> int:
        """Return the row of the robot that carries a box; NO_ROW if none does."""
        row = self.row(load)
        return NO_ROW if row == NO_ROW else int(self._world.parent[row])

    def row(self, load: int) -> int:
        """Return the row of a box; NO_ROW if it is gone."""
        try:
            return NO_ROW if load == NO_LOAD else self._world.index.row_of(load)
        except UnknownNameError:
            return NO_ROW

    def _params(self, mass: float) -> SimObjectSpawnParams:
        length, width, height = self._settings.size
        shape = ShapeParams(
            "box", half_extents=(0.5 * length, 0.5 * width, 0.5 * height), rgba_color=self._settings.color
        )
        collides = self._settings.collides
        given: dict[str, Any] = {} if collides else {"collision_mode": CollisionMode.DISABLED}
        return SimObjectSpawnParams(visual_shape=shape, collision_shape=shape if collides else None, mass=mass, **given)


# Odometer: how far robots drive for orders, how long they stand on the way, and what energy it takes.


STANDS = 1e-3
"""Below this speed (m/s) a robot stands."""


class Logs(NamedTuple):
    """The columns of robots that serve orders in which their ways add up, and what that depends on."""

    state: Bytes
    slowed: Bools
    odometer: Floats
    odometer_loaded: Floats
    measured_at: Floats
    standing: Floats
    energy_used: Floats


class Stood(NamedTuple):
    """By row: the orientation `facing` (N, 4) at the end of the last step; how long in s the robot neither drove nor
    turned while it was to drive, `still` (N,), and how long of that because it was disturbed, `halted` (N,)."""

    facing: Floats
    still: Floats
    halted: Floats


LONGEST = float(np.finfo(np.float64).max)
_LOADED, _EMPTY = RobotState.LOADED.code, RobotState.EMPTY.code


@compiled_step
def measure(
    rows: Rows, dt: float, logs: Logs, stood: Stood, position: Floats, orientation: Floats, held: Bools, power: Floats
) -> None:
    """Add what robots in `rows` (N,) did in a step. By row: who is `held` by a disturbance, and the `power` into each
    battery in W; both may be empty."""
    for place in range(len(rows)):
        row = rows[place]
        # From place to place: speeds at the ends of steps would add up to another way, as robots speed up and brake.
        across, along = position[row, 0] - logs.measured_at[row, 0], position[row, 1] - logs.measured_at[row, 1]
        logs.measured_at[row, 0], logs.measured_at[row, 1] = position[row, 0], position[row, 1]
        length = np.sqrt(across * across + along * along)
        # What is new has driven nothing before.
        length = min(length, LONGEST) if length == length else 0.0
        logs.odometer[row] += length
        if logs.slowed[row]:
            logs.odometer_loaded[row] += length
        stands = (logs.state[row] == _LOADED or logs.state[row] == _EMPTY) and length < STANDS * dt
        if stands:
            logs.standing[row] += dt
        turn = 0.0
        for part in range(4):
            turn = max(turn, abs(orientation[row, part] - stood.facing[row, part]))
            stood.facing[row, part] = orientation[row, part]
        # Half of a small turn is how far the quaternion goes.
        if stands and 2.0 * turn < STANDS * dt:
            stood.still[row] += dt
            if len(held) and held[row]:
                stood.halted[row] += dt
        # Only what it draws: what a charger gives meanwhile is no less use.
        if len(power):
            logs.energy_used[row] += max(-power[row], 0.0) * dt


class Odometer(Stateful):
    """Adds up, in each step and for all robots at once."""

    STATE = ("total", "_facing", "_still", "_halted")

    def __init__(self, world: World, table: OrderColumns) -> None:
        self._world = world
        self._table = table
        self._logs = named_columns(Logs, table)
        self._facing: Floats = np.zeros((0, 4))
        """The orientation of the robot in each row at the end of the last step."""
        self._still: Floats = np.zeros(0)
        """How long the robot in each row neither drove nor turned while it was to drive, in s."""
        self._halted: Floats = np.zeros(0)
        """How long of that because it was disturbed."""
        self.total: Floats = np.zeros(4 + len(RobotState))
        """Of robots that were removed: driven, driven with a load, stood, energy, and the time in each RobotState."""

    def run(self, dt: float) -> None:
        """Add what happened in a step."""
        world, table = self._world, self._table
        rows = table.among(world.rows)
        if not len(rows):
            return
        if self._logs.odometer is not table.odometer:
            self._logs = named_columns(Logs, table)
        more = len(table.standing) - len(self._still)
        if more:
            self._facing = np.pad(self._facing, ((0, more), (0, 0)))
            self._still, self._halted = np.pad(self._still, (0, more)), np.pad(self._halted, (0, more))
        conditions, batteries = conditions_of(world), energy_columns(world)
        held = np.empty(0, np.bool_) if conditions is None else conditions.halted
        power = np.empty(0) if batteries is None else batteries.power
        stood = Stood(self._facing, self._still, self._halted)
        measure(rows, dt, self._logs, stood, world.position, world.orientation, held, power)

    def sums(self, rows: Rows) -> Floats:
        """Return the sums over `rows`: driven, driven with a load, stood, energy, then the time in each RobotState."""
        table, now = self._table, self._world.clock.time
        times = table.times[rows]
        # The time in the present state is entered when that ends.
        times[np.arange(len(rows)), table.state[rows]] += now - table.since[rows]
        parts = (table.odometer, table.odometer_loaded, table.standing, table.energy_used)
        return np.array([*(float(part[rows].sum()) for part in parts), *times.sum(axis=0).tolist()])

    def retire(self, row: int) -> None:
        """Keep what a robot did that is being removed."""
        self.total = self.total + self.sums(np.array([row]))
        self._still[row : row + 1] = self._halted[row : row + 1] = 0.0

    def stood(self, row: int) -> tuple[float, float]:
        """Return how long a robot neither drove nor turned while it was to drive, in s, and how long of it disturbed.

        A robot that did not serve in a step yet has stood for none.
        """
        return (float(self._still[row]), float(self._halted[row])) if row < len(self._still) else (0.0, 0.0)


# What the time of orders and of stations goes into.


_SPENT = {
    RobotState.EMPTY: Spent.EMPTY,
    RobotState.LOADED: Spent.LOADED,
    RobotState.SERVING: Spent.SERVICE,
    RobotState.CHARGING: Spent.DISTURBANCE,
    RobotState.OUT: Spent.DISTURBANCE,
}


@saved
class Visits(NamedTuple):
    """What happened at a station: robots served or charged there, for how long in all, and how long they waited; s."""

    robots: int = 0
    served: float = 0.0
    waited: float = 0.0
    longest_wait: float = 0.0


class TimeSheet(Stateful):
    """Books the time of robots on their orders and stations, whenever one begins to do something else."""

    STATE = ("visits", "_spent", "_begun")

    def __init__(self, odometer: Odometer) -> None:
        self._odometer = odometer
        self.visits: dict[int, Visits] = {}
        """By the number of the place."""
        self._spent: Floats = np.zeros((16, len(Spent)))
        self._begun: dict[int, tuple[int, float, float]] = {}
        """By row: the place where it stands to be served, and how long it had stood when its state began."""

    def spent(self, orders: int) -> Floats:
        """Return the seconds (N, len(Spent)) that went into each of the first `orders`, those of robots alone."""
        return np.pad(self._spent, ((0, max(0, orders - len(self._spent))), (0, 0)))[:orders]

    def book(self, row: int, order: int, state: RobotState, seconds: float, place: int) -> None:
        """Book `seconds` that a robot spent in a state; from now on it stands at `place`, or at none."""
        odometer = self._odometer
        at, stood, halted = self._begun.get(row, (NO_PLACE, 0.0, 0.0))
        now = odometer.stood(row)
        self._begun[row] = (place, *now)
        if at != NO_PLACE:
            known = self.visits.get(at, Visits())
            if state is RobotState.WAITING:
                waited, longest = known.waited + seconds, max(known.longest_wait, seconds)
                self.visits[at] = known._replace(waited=waited, longest_wait=longest)
            elif state in (RobotState.SERVING, RobotState.CHARGING):
                self.visits[at] = known._replace(robots=known.robots + 1, served=known.served + seconds)
        if order == NO_ORDER:
            return
        if order >= len(self._spent):
            self._spent = np.pad(self._spent, ((0, order + 1), (0, 0)))
        of_order = self._spent[order]
        waits = Spent.DISTURBANCE if at == NO_PLACE else Spent.QUEUE
        cause = _SPENT.get(state, waits)
        if cause in (Spent.EMPTY, Spent.LOADED):
            # On its way it stood for others, or because it was disturbed.
            still = min(now[0] - stood, seconds)
            held = min(now[1] - halted, still)
            of_order[Spent.DISTURBANCE.code] += held
            of_order[Spent.TRAFFIC.code] += still - held
            seconds -= still
        of_order[cause.code] += seconds

    def forget(self, row: int) -> None:
        """Forget a robot that was removed."""
        self._begun.pop(row, None)
