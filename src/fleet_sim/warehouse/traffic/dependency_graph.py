"""ActionDependencyGraph: who may enter which node after whom, as a plan says, as arrays for kernels.

Hönig, Kiesel, Tinka, Durham and Ayanian, "Persistent and robust execution of MAPF schedules in warehouses" (2019): the
times of a plan are given up, and who passes a node before whom is kept. A late robot makes others wait; no two can meet
for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import AnyArray, Bools, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, PlanError
from fleet_sim.base.kernels import compiled, compiled_step, inlined
from fleet_sim.base.spatial import trigonometry as trig
from fleet_sim.robots.motion.path import ROUNDING, TINY
from fleet_sim.robots.motion.path import SLACK as PATH_SLACK
from fleet_sim.warehouse.traffic.columns import TrafficColumns
from fleet_sim.warehouse.traffic.network import Network
from fleet_sim.warehouse.traffic.problem import find_circles

# Tracks: a network as robots drive it, as arrays by lane.


PARALLEL = 1e-9


class Tracks(NamedTuple):
    """Nodes and lanes. Lane `v * K + k` leads from node v to `neighbours[v, k]`.

    `positions` (N, 2) in m; `neighbours` (N, K), -1 padded. By lane (N * K,): `yaws` in rad, `lengths` and `clears` in
    m, speed `limits` in m/s; what it needs beside its end is `claims[begins[lane] : begins[lane + 1]]`. A robot at node
    v holds `stands[firsts[v] : firsts[v + 1]]` beside it, see `Network.stands`. A robot that has driven `clears` along
    a lane touches nobody at the lane's start, or on another lane from or to there. Middles of robots stay `room` m
    apart: in a straight line, or along x or y where they are `square`, along the rows and columns of a grid.
    """

    positions: Floats
    neighbours: Ints
    begins: Ints
    claims: Ints
    yaws: Floats
    lengths: Floats
    clears: Floats
    limits: Floats
    room: float
    firsts: Ints
    stands: Ints
    square: bool = False


def tracks_of(network: Network, room: float, limits: Floats | None = None, *, square: bool = False) -> Tracks:
    """Return the tracks of `network` for robots that keep their middles `room` m apart.

    `limits` (N * K,) in m/s are the speed limits of the lanes; None: none. `square` robots keep their sides along the
    rows and columns of the network's grid. Raises InvalidValueError where two robots would touch each other while both
    stand on nodes that a lane connects, and the network does not know it, and for squares off a grid.
    """
    if square and network.grid is None:
        raise InvalidValueError("footprint: squares keep their sides along the cells of a grid; set network: grid")
    positions, neighbours = np.array(network.positions), np.array(network.neighbours)
    count, width = neighbours.shape
    ways = positions[neighbours] - positions[:, None, :]
    lengths = np.where(neighbours >= 0, trig.hypot(ways[..., 0], ways[..., 1]), 1.0)
    yaws = trig.arctan2(ways[..., 1].ravel(), ways[..., 0].ravel())
    stands = network.stands
    firsts = np.array(stands.begins) if stands else np.zeros(count + 1, np.int64)
    # Between two nodes of one place robots turn, or stay as they are.
    within_mask = (neighbours >= 0) & (network.bases[neighbours] == network.bases[:, None])
    if within_mask.any():
        facings = np.where(np.isnan(network.facings)[neighbours], network.facings[:, None], network.facings[neighbours])
        yaws = np.where(within_mask, facings, yaws.reshape(count, width)).ravel()
    claims = network.claims
    begins = np.array(claims.begins) if claims else np.zeros(count * width + 1, np.int64)
    short_mask = (neighbours >= 0) & ~within_mask & (lengths < room * (1.0 - PARALLEL))
    if short_mask.any() and not claims:
        node, slot = (int(part) for part in np.argwhere(short_mask)[0])
        raise InvalidValueError(
            f"robots whose middles stay {room:g} m apart do not fit on nodes {lengths[node, slot]:g} m apart, as at "
            f"{positions[node].tolist()}; use larger cells, or smaller robots"
        )
    clears = _clears(network, yaws.reshape(count, width), room)
    if stands:
        # A cell is left when nothing of the robot is in it; what holds several is in them until it is at the next.
        assert network.grid is not None
        whole_mask = (np.diff(firsts) > 0)[:, None]
        clears = np.where(whole_mask, np.inf, np.maximum(clears, 0.5 * (network.grid.cell + room)))
    # Within a place nothing is left before it is done.
    clears = np.minimum(clears, np.where(within_mask, np.inf, lengths))
    speeds = np.full(count * width, np.inf) if limits is None else np.array(limits, np.float64)
    lanes = (yaws, lengths.ravel(), clears.ravel(), speeds)
    held = firsts, np.array(stands.ids)
    return Tracks(positions, neighbours, begins, np.array(claims.ids), *lanes, float(room), *held, square)


def _clears(network: Network, yaws: Floats, room: float) -> Floats:
    """Return how far (N, K) robots drive along each lane until they are `room` from all other lanes at its start."""
    clears = np.full(yaws.shape, room)
    for ends, directions in ((network.neighbours, yaws), _entering(network)):
        for slot in range(ends.shape[1]):
            # The way back along the same lane is nobody's while somebody is on the lane.
            other_mask = (ends[:, slot : slot + 1] >= 0) & (ends[:, slot : slot + 1] != network.neighbours)
            sines, cosines = trig.sin_cos(directions[:, slot : slot + 1] - yaws)
            acute_mask = other_mask & (cosines > PARALLEL)
            with np.errstate(divide="ignore"):
                needed = room / np.abs(np.where(acute_mask, sines, 1.0))
            np.maximum(clears, needed, out=clears)
    return clears


def _entering(network: Network) -> tuple[Ints, Floats]:
    """Return the nodes (N, L) from which each is entered, and the directions in rad in which they are seen from it."""
    sources = network.sources().astype(np.int64)
    ways = network.positions[sources] - network.positions[:, None, :]
    return sources, trig.arctan2(ways[..., 1].ravel(), ways[..., 0].ravel()).reshape(sources.shape)


# The arrays of the dependency graph, as kernels take them.


Small: TypeAlias = npt.NDArray[np.int32]


class Ways(NamedTuple):
    """The ways of robots, by row: `nodes` and `lanes` (into each node) (rows, W), `needs` (rows, W, 1 + C).

    A node may be entered when it was left `needs[..., 0]` times since the last plan, and the c-th claim of the lane
    into it `needs[..., 1 + c]` times. Those are the uses that the plan puts before this one. Where `bends`
    (rows, W), the lane into the node is not straight on from the lane before. `rounds` (rows, W) are the numbers of the
    rotations in which nodes are entered, 0 for none; `leaders` (rows, W) the rows of those who use the nodes directly
    before, -1 for nobody.
    """

    nodes: Small
    lanes: Small
    needs: Small
    bends: Bools
    rounds: Small
    leaders: Ints


class Rotations(NamedTuple):
    """Rotations of the latest plan by number, from 1 on: robots that move round in a circle at once.

    `sizes` are how many robots each has; 0: it need not be at once, as one of them is gone. `ready` and `leaders`, the
    least rows, are scratch.
    """

    sizes: Small
    ready: Small
    leaders: Ints


class Uses(NamedTuple):
    """Uses of each resource, nodes and crossings, since the last plan: how many ended (`left`) and are known (`given`).

    `last` is the row of the latest known one, -1 for none, and `first` its need.
    """

    left: Small
    given: Small
    last: Ints
    first: Small


class Marks(NamedTuple):
    """The columns of TrafficColumns that say where on their ways robots are."""

    behind: Ints
    at: Ints
    granted: Ints
    length: Ints
    digest: Ints


# Kernels that number the robots which move round in a circle at once, each to the place that the next one leaves.


NOBODY = -1
SLACK = 1e-9


@compiled
def number_rings(paths: Ints, tracks: Tracks, standing: Ints, rounds: Small) -> tuple[int, int, int]:
    """Number the rotations of all steps from 1 on in `rounds` (R, T + 1), 0 before, where lanes claim nothing.

    Returns (robot, step, how many there are); the robot is one that has no room to move round, or NOBODY. `standing` is
    scratch by node, -1 before and after.
    """
    known, marks = 0, np.empty(len(paths), np.int64)
    for step in range(1, paths.shape[1]):
        count = find_circles(paths, step, standing, marks)
        for robot in range(len(paths) if count else 0):
            if marks[robot] == 0:
                continue
            rounds[robot, step] = known + marks[robot]
            begin, end = paths[robot, step - 1], paths[robot, step]
            after = 0
            while paths[after, step - 1] != end:
                after += 1
            left = paths[after, step]
            if not have_room(
                tracks.positions[begin, 0] - tracks.positions[end, 0],
                tracks.positions[begin, 1] - tracks.positions[end, 1],
                tracks.positions[left, 0] - tracks.positions[end, 0],
                tracks.positions[left, 1] - tracks.positions[end, 1],
                tracks.room,
                tracks.square,
            ):
                return robot, step, known
        known += count
    return NOBODY, -1, known


@compiled
def have_room(ax: float, ay: float, bx: float, by: float, room: float, square: bool) -> bool:
    """Return whether two robots stay `room` m apart: one comes from a to the origin while the other goes from it to b.

    Both have driven the same share of their lanes at any time. At a right angle on cells of 1 m they come as near as
    0.707 m, `square` ones along their sides as near as 0.5 m. All others of a circle are on lanes without a common end,
    where robots have room anyway.
    """
    # The second, as seen by the first, drives the straight line from -a to b.
    dx, dy = ax + bx, ay + by
    if square:
        # At a right angle both sides shrink and grow alike; straight on they keep the length of a lane.
        x, y = 0.5 * dx - ax, 0.5 * dy - ay
        return max(abs(x), abs(y)) >= room * (1.0 - SLACK)
    way = dx * dx + dy * dy
    share = min(max((ax * dx + ay * dy) / way, 0.0), 1.0) if way > 0.0 else 0.0
    x, y = share * dx - ax, share * dy - ay
    return np.sqrt(x * x + y * y) >= room * (1.0 - SLACK)


# The numbers of the law, as compiled functions of numbers; those of arrays are in `fleet_sim.robots.motion.path`.


STRAIGHT = 1e-9
"""A heading that is off by less (rad) is right, and lanes whose directions differ by less are one line."""
WHOLE_TURN = 2.0 * np.pi


@inlined
def next_speed(speed: float, distance: float, exit_speed: float, limit: float, accel: float, dt: float) -> float:
    """Return the next speed as `next_speeds` of the profile does."""
    ahead = max(2.0 * distance - speed * dt + exit_speed * exit_speed / accel, 0.0)
    ahead /= np.sqrt(ahead / accel + 0.25 * dt * dt) + 0.5 * dt
    return max(min(ahead, limit, speed + accel * dt), speed - accel * dt)


@inlined
def can_stop(distance: float, speed: float, limit: float, accel: float, dt: float) -> bool:
    """Return whether a robot can stop exactly `distance` ahead within one step, as `can_stop` of the profile does."""
    if distance > min(0.5 * accel * dt, limit) * dt * PATH_SLACK:
        return False
    most = accel * dt
    rate = speed * speed / max(most * most, TINY)
    offset = distance - 0.5 * speed * dt
    spare = 0.25 * dt * most * max(1.0 - rate, 0.0) + ROUNDING * dt * min(most, 1.0)
    return rate <= PATH_SLACK and offset * offset <= spare * spare


@inlined
def wrapped(angle: float) -> float:
    """Return the same angle between -pi and pi."""
    return angle - WHOLE_TURN * np.floor(angle / WHOLE_TURN + 0.5)


# Kernels that count who passes what after whom: each use of a node or a crossing is counted after those before it,
# which is the whole graph.


WAITS = -1


@inlined
def needs_of(node: int, lane: int, tracks: Tracks) -> int:
    """Return how many resources a move along `lane` to `node` needs: the node, claims of the lane, what that holds."""
    return 1 + tracks.begins[lane + 1] - tracks.begins[lane] + tracks.firsts[node + 1] - tracks.firsts[node]


@inlined
def resource_of(node: int, lane: int, slot: int, tracks: Tracks) -> int:
    """Return one of the resources that a move needs, by its number."""
    if slot == 0:
        return node
    place, last = tracks.begins[lane] + slot - 1, tracks.begins[lane + 1]
    return tracks.claims[place] if place < last else tracks.stands[tracks.firsts[node] + place - last]


@inlined
def _lane(before: int, node: int, tracks: Tracks) -> int:
    """Return the lane from one node to a neighbour, WAITS where they are the same."""
    if node == before:
        return WAITS
    width = tracks.neighbours.shape[1]
    slot = 0
    while tracks.neighbours[before, slot] != node:
        slot += 1
    return before * width + slot


@compiled
def append(
    holders: Rows, rows: Rows, paths: Ints, rounds: Small, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses
) -> None:
    """Make the sound plan `paths` of `rows`, with its `rounds`, what `holders` drive after their granted ways."""
    uses.left[:] = 0
    uses.given[:] = 0
    uses.last[:] = -1
    for row in holders:
        _keep_granted(row, tracks, marks, ways, uses)
    # After those who leave a node, as they move round with others, count those who are granted it already.
    for row in holders:
        _count_ahead(row, tracks, marks, ways, uses)
    for step in range(1, paths.shape[1]):
        for robot in range(len(rows)):
            lane = _lane(paths[robot, step - 1], paths[robot, step], tracks)
            if lane >= 0:
                _plan_move(rows[robot], paths[robot, step], lane, rounds[robot, step], tracks, marks, ways, uses)
    for row in holders:
        # One number that stands for the whole way ahead.
        mixed = np.int64(0)
        for place in range(marks.at[row], marks.length[row]):
            mixed = _mixed(mixed, ways.nodes[row, place] + 1)
            mixed = _mixed(mixed, ways.rounds[row, place])
            for slot in range(ways.needs.shape[2]):
                mixed = _mixed(mixed, ways.needs[row, place, slot])
        marks.digest[row] = mixed


@compiled_step
def _mixed(digest: np.int64, number: int) -> np.int64:
    """Return what FNV-1a makes of the two, in 64 bits, of which the upper ones are lost: in Python, too."""
    return np.int64(digest ^ np.int64(number)) * np.int64(1099511628211)


@inlined
def _keep_granted(row: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses) -> None:
    """Move what the robot still holds to the front of its way, and count its uses of what it leaves or stands on."""
    # A robot that has cleared the node that it passed last is still on the lane that begins there.
    base = min(marks.behind[row], marks.at[row])
    count = marks.granted[row] - base + 1
    marks.behind[row] -= base
    marks.at[row] -= base
    marks.granted[row] = count - 1
    marks.length[row] = count
    for place in range(count):
        ways.nodes[row, place] = ways.nodes[row, base + place]
        ways.lanes[row, place] = ways.lanes[row, base + place]
        ways.bends[row, place] = ways.bends[row, base + place]
        # Rotations that began are known by who takes part.
        ways.needs[row, place], ways.rounds[row, place] = 0, 0
        if marks.behind[row] <= place <= marks.at[row]:
            _count_stand(row, ways.nodes[row, place], tracks, uses)


@inlined
def _count_ahead(row: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses) -> None:
    """Count the uses of the nodes that the robot was granted and has not reached."""
    for place in range(marks.at[row] + 1, marks.granted[row] + 1):
        lane = ways.lanes[row, place]
        _count_stand(row, ways.nodes[row, place], tracks, uses)
        # The claims of a lane are held until its end is reached.
        for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
            _count(row, tracks.claims[at], uses)


@inlined
def _plan_move(
    row: int, node: int, lane: int, number: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses
) -> None:
    """Add a move along `lane` to `node` to the end of a way, after all uses of what it needs that are known."""
    place = marks.length[row]
    marks.length[row] = place + 1
    ways.nodes[row, place] = node
    ways.lanes[row, place] = lane
    ways.rounds[row, place] = number
    bend = wrapped(tracks.yaws[lane] - tracks.yaws[ways.lanes[row, place - 1]])
    # Of the first lane of a way it means nothing: robots look at the bends ahead of them.
    ways.bends[row, place] = abs(bend) > STRAIGHT
    ways.leaders[row, place] = uses.last[node] if uses.last[node] != row else NOBODY
    ways.needs[row, place, 0] = _count(row, node, uses)
    for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
        ways.needs[row, place, 1 + at - tracks.begins[lane]] = _count(row, tracks.claims[at], uses)
    first = 1 + tracks.begins[lane + 1] - tracks.begins[lane] - tracks.firsts[node]
    for at in range(tracks.firsts[node], tracks.firsts[node + 1]):
        ways.needs[row, place, first + at] = _count(row, tracks.stands[at], uses)


@inlined
def _count_stand(row: int, node: int, tracks: Tracks, uses: Uses) -> None:
    """Count the uses of a node, and of all that a robot holds there."""
    _count(row, node, uses)
    for at in range(tracks.firsts[node], tracks.firsts[node + 1]):
        _count(row, tracks.stands[at], uses)


@inlined
def _count(row: int, resource: int, uses: Uses) -> int:
    """Count one more use of a resource by `row`; return how many others must have ended before."""
    # Nobody waits for himself: a robot that comes back, with no one between, waits for whom it waited before.
    need = uses.first[resource] if uses.last[resource] == row else uses.given[resource]
    uses.first[resource] = need
    uses.last[resource] = row
    uses.given[resource] += 1
    return need


@compiled
def withdraw(holders: Rows, row: int, tracks: Tracks, marks: Marks, ways: Ways, uses: Uses) -> None:
    """End all that the robot in `row` holds, and let no other wait for what was only planned for it."""
    # What it held is free now.
    for place in range(marks.behind[row], marks.granted[row] + 1):
        node = ways.nodes[row, place]
        uses.left[node] += 1
        for at in range(tracks.firsts[node], tracks.firsts[node + 1]):
            uses.left[tracks.stands[at]] += 1
    for place in range(marks.at[row] + 1, marks.length[row]):
        lane = ways.lanes[row, place]
        planned = place > marks.granted[row]
        if planned:
            node = ways.nodes[row, place]
            _waive(holders, row, node, ways.needs[row, place, 0], tracks, marks, ways)
            first = 1 + tracks.begins[lane + 1] - tracks.begins[lane] - tracks.firsts[node]
            for at in range(tracks.firsts[node], tracks.firsts[node + 1]):
                _waive(holders, row, tracks.stands[at], ways.needs[row, place, first + at], tracks, marks, ways)
        for at in range(tracks.begins[lane], tracks.begins[lane + 1]):
            if planned:
                need = ways.needs[row, place, 1 + at - tracks.begins[lane]]
                _waive(holders, row, tracks.claims[at], need, tracks, marks, ways)
            else:
                uses.left[tracks.claims[at]] += 1


@inlined
def _waive(holders: Rows, gone: int, resource: int, need: int, tracks: Tracks, marks: Marks, ways: Ways) -> None:
    """Let each planned use of `resource` behind the one with `need` wait for one use less."""
    for row in holders:
        if row == gone:
            continue
        for place in range(marks.granted[row] + 1, marks.length[row]):
            # Only those that come after it waited for it.
            node, lane = ways.nodes[row, place], ways.lanes[row, place]
            for slot in range(needs_of(node, lane, tracks)):
                if resource_of(node, lane, slot, tracks) == resource and ways.needs[row, place, slot] > need:
                    ways.needs[row, place, slot] -= 1


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
        self.plans = 0
        """Counts how often what was planned was replaced, and the places of ways numbered anew."""
        nodes = len(tracks.positions)
        resources = max(nodes, int(tracks.claims.max(initial=-1)) + 1)
        self._most_claims = int(np.diff(tracks.begins).max(initial=0)) + int(np.diff(tracks.firsts).max(initial=0))
        self.uses = Uses(
            np.zeros(resources, np.int32),
            np.zeros(resources, np.int32),
            np.full(resources, NOBODY),
            np.zeros(resources, np.int32),
        )
        self._standing = np.full(nodes, NOBODY)
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
        Paths are those that `check_paths` returns. Raises PlanError, without a change, for paths that begin elsewhere,
        and for robots that move round in a circle at once and have no room for it.
        """
        given = np.ascontiguousarray(paths, np.int64)
        astray = np.flatnonzero(given[:, 0] != self.ends(table, rows))
        if len(astray):
            at = f"robot {astray[0]} starts at node {given[astray[0], 0]}"
            raise PlanError(f"{at}, which is not where its granted way ends")
        # What is held of a way stays, and the new path comes after it.
        longest = int((table.granted[holders] - table.behind[holders]).max(initial=0)) + 2 + given.shape[1]
        self._reserve(table.capacity, longest)
        rounds, count = np.zeros(given.shape, np.int32), 0
        # With claims plans have no circles.
        if not len(self.tracks.claims) and not len(self.tracks.stands):
            robot, step, count = number_rings(given, self.tracks, self._standing, rounds)
            if robot != NOBODY:
                begin, end = given[robot, step - 1 : step + 1]
                raise PlanError(
                    f"robot {robot} moves from node {begin} to {end} at step {step}, in a circle of robots that all"
                    " wait for the next to leave, and discs of this size have no room to move round at once; plan"
                    " without rotations, or use smaller robots"
                )
        self.version += 1
        self.plans += 1
        append(holders, rows, given, rounds, self.tracks, marks_of(table), self.ways, self.uses)
        self.rounds = _rounds(rounds, count)

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
        """Return the nodes (K,) that robots in `rows` stand on, drive from, or may drive to, with all held there."""
        pieces = [self.ways.nodes[row, table.behind[row] : table.granted[row] + 1] for row in rows.tolist()]
        nodes = np.concatenate([np.empty(0, np.int32), *pieces]).astype(np.int64)
        tracks = self.tracks
        held = [tracks.stands[tracks.firsts[node] : tracks.firsts[node + 1]] for node in nodes.tolist()]
        return np.concatenate([nodes, *held]) if len(tracks.stands) else nodes

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
