"""How people walk: the collision-free speed model, around walls, each other and robots, as one kernel on arrays.

Tordeux, Chraibi and Seyfried, "Collision-free speed model for pedestrian dynamics" (2016): a person turns away from
what is near, by a sum of repulsions, and is as fast as the gap to the next one in that direction allows. Besides, no
step is made that would end in a wall, in somebody else, or where a robot may yet come to before it has stopped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.base.kernels import compiled, inlined
from fleet_sim.base.spatial.rotations import sin_cos
from fleet_sim.warehouse.sites.grid import Grid

FINEST = 0.2
"""Cells in m on which people find their ways are at least so large, unless those of the site are larger and divided."""
WALKS, AIMS, STANDS = 0, 1, 2
"""What a person does: goes to its place, walks in a given direction, or stays where it is."""
FAR = 1e9
EDGE = 0.35
"""In m: nearer to a wall a way counts twice as long, so that people keep off walls where there is room."""


class Law(NamedTuple):
    """The numbers of the model. `strip` is the half width of what is ahead, as a share of the width of two people.

    `time_gap` in s; `push` and `pull_off` in m of the repulsion of others, `wall_push` and `wall_pull_off` of walls;
    `room` in m is kept beyond the widths of two people.
    """

    time_gap: float = 0.6
    push: float = 8.0
    pull_off: float = 0.1
    wall_push: float = 1.0
    wall_pull_off: float = 0.08
    room: float = 0.0
    strip: float = 0.8


class Ground(NamedTuple):
    """Where people can walk: `blocked` (H, W) cells of `cell` m from the lower left; `tight`, where a wall is near.

    For each place that somebody goes to, `ways` (F, H, W, 2) are the directions there, (0, 0) at it.
    """

    blocked: Bools
    tight: Bools
    ways: npt.NDArray[np.float32]
    cell: float


class Crowd(NamedTuple):
    """Everybody (N,): `places` (N, 2) in m, `radii`, wanted `speeds` in m/s; what each `does`, and how.

    Who walks goes by `fields` to `ends` (N, 2), turned off by `turns` in rad; who aims goes along `aims` (N, 2).
    `velocities` (N, 2) are results.
    """

    places: Floats
    radii: Floats
    speeds: Floats
    does: Bytes
    fields: Ints
    ends: Floats
    turns: Floats
    aims: Floats
    velocities: Floats


class Machines(NamedTuple):
    """Robots (M,): `places` (M, 2), `radii` about them, unit `headings` (M, 2), how far each goes until it stands.

    Each is within `rounds` (M,) m of a box with `halves` (M, 2) along its heading and across; a disc has a box of 0 m.
    It may drive `claims` (M,) m along `ways` (M, 2), as a box of `sizes` (M, 2): people do not enter that.
    """

    places: Floats
    radii: Floats
    headings: Floats
    stops: Floats
    halves: Floats
    rounds: Floats
    ways: Floats
    claims: Floats
    sizes: Floats


class Shelves(NamedTuple):
    """Points by square cells of `size` m: those of cell c are `order[begins[c] : begins[c + 1]]`, row after row."""

    begins: Ints
    order: Ints
    columns: int
    size: float


def ground_of(grid: Grid, radius: float) -> Grid:
    """Return the cells of `grid` as people of `radius` m use them: small enough to be as exact as they walk."""
    if grid.cell < FINEST:
        return grid.with_cells_of(math.ceil(FINEST / grid.cell - 1e-9) * grid.cell)
    times = max(math.floor(grid.cell / FINEST - 1e-9), 1)
    return Grid(grid.free_mask.repeat(times, axis=0).repeat(times, axis=1), grid.cell / times, grid.origin)


def tight_cells(blocked: Bools, reach: float, cell: float) -> Bools:
    """Return the cells (H, W) within `reach` m of which, from any point of them, something is blocked."""
    steps = math.ceil(reach / cell)
    padded = np.pad(blocked, steps, constant_values=True)
    found = np.zeros_like(blocked)
    height, width = blocked.shape
    for down in range(2 * steps + 1):
        for right in range(2 * steps + 1):
            found |= padded[down : down + height, right : right + width]
    return found


def way_to(free: Bools, slow: Bools, ends: Bools) -> tuple[Floats, Floats]:
    """Return how far (H, W) the nearest of `ends` is from each free cell, in cells, and the directions (H, W, 2) there.

    Cells of `slow` count twice. A cell from which there is no way is FAR.
    """
    lengths = np.full(free.shape, FAR)
    lengths[ends] = 0.0
    costs = np.where(free, np.where(slow, 2.0, 1.0), FAR)
    sweep(lengths, costs)
    ways = np.zeros((*free.shape, 2))
    padded = np.pad(lengths, 1, constant_values=FAR)
    for axis, (before, after) in enumerate(
        ((padded[1:-1, :-2], padded[1:-1, 2:]), (padded[:-2, 1:-1], padded[2:, 1:-1]))
    ):
        nearest = np.minimum(before, after)
        down = np.where(nearest < lengths, lengths - nearest, 0.0)
        ways[..., axis] = np.where(before < after, -down, down)
    ways[lengths >= FAR] = 0.0
    norms = np.sqrt(ways[..., 0] * ways[..., 0] + ways[..., 1] * ways[..., 1])
    return lengths, ways / np.where(norms > 0.0, norms, 1.0)[..., None]


@compiled
def sweep(lengths: Floats, costs: Floats) -> None:
    """Solve |grad lengths| = costs by fast sweeping (Zhao, 2005), from the cells where `lengths` are 0."""
    height, width = lengths.shape
    changed = True
    while changed:
        changed = False
        for direction in range(4):
            for at in range(height):
                row = at if direction < 2 else height - 1 - at
                for beside in range(width):
                    column = beside if direction % 2 == 0 else width - 1 - beside
                    cost = costs[row, column]
                    if cost >= FAR:
                        continue
                    a = min(
                        lengths[row, column - 1] if column > 0 else FAR,
                        lengths[row, column + 1] if column < width - 1 else FAR,
                    )
                    b = min(
                        lengths[row - 1, column] if row > 0 else FAR,
                        lengths[row + 1, column] if row < height - 1 else FAR,
                    )
                    least, most = min(a, b), max(a, b)
                    if least >= FAR:
                        continue
                    new = least + cost
                    if new > most:
                        new = 0.5 * (a + b + np.sqrt(2.0 * cost * cost - (a - b) * (a - b)))
                    if new < lengths[row, column] - 1e-9:
                        lengths[row, column] = new
                        changed = True


@compiled
def shelve(places: Floats, begins: Ints, order: Ints, columns: int, size: float) -> None:
    """Sort points into cells: fill `begins` (cells + 1,) and `order` (N,)."""
    cells = len(begins) - 1
    begins[:] = 0
    for index in range(len(places)):
        begins[_shelf(places[index, 0], places[index, 1], columns, cells, size) + 1] += 1
    for cell in range(cells):
        begins[cell + 1] += begins[cell]
    # From the last one, so that each cell is in the order of the points.
    for index in range(len(places) - 1, -1, -1):
        cell = _shelf(places[index, 0], places[index, 1], columns, cells, size)
        begins[cell + 1] -= 1
        order[begins[cell + 1]] = index
    for cell in range(cells):
        begins[cell] = begins[cell + 1]
    begins[cells] = len(places)


@inlined
def _shelf(x: float, y: float, columns: int, cells: int, size: float) -> int:
    column = min(max(int(x / size), 0), columns - 1)
    row = min(max(int(y / size), 0), cells // columns - 1)
    return row * columns + column


@inlined
def _around(x: float, y: float, shelves: Shelves) -> tuple[int, int, int, int]:
    """Return the cells next to that of a point: their first row, the one behind their last, and columns alike."""
    rows = (len(shelves.begins) - 1) // shelves.columns
    column = min(max(int(x / shelves.size), 0), shelves.columns - 1)
    row = min(max(int(y / shelves.size), 0), rows - 1)
    return max(row - 1, 0), min(row + 2, rows), max(column - 1, 0), min(column + 2, shelves.columns)


@compiled
def mark(places: Floats, reaches: Floats, nodes: Ints, cell: float, askers: Ints, taken: Bools, asked: Ints) -> None:
    """Set `taken` of those of `nodes` (H, W), at the middles of cells of `cell` m, that are in reach of a place, and
    for each place in `asked` which of the `askers` of nodes, -1 for nobody, needs a node within its reach."""
    height, width = nodes.shape
    for index in range(len(places)):
        x, y, reach = places[index, 0], places[index, 1], reaches[index]
        for row in range(max(int((y - reach) / cell), 0), min(int((y + reach) / cell) + 1, height)):
            for column in range(max(int((x - reach) / cell), 0), min(int((x + reach) / cell) + 1, width)):
                dx, dy = (column + 0.5) * cell - x, (row + 0.5) * cell - y
                if nodes[row, column] >= 0 and dx * dx + dy * dy < reach * reach:
                    taken[nodes[row, column]] = True
                    asked[index] = max(asked[index], askers[nodes[row, column]])


@compiled
def walk(
    crowd: Crowd, shelves: Shelves, ground: Ground, machines: Machines, near: Shelves, law: Law, dt: float
) -> None:
    """Move everybody by `dt` s: `places` are written, and the `velocities` with which they went.

    Directions and speeds are found from where all stood; then one after the other moves, where there is room.
    """
    for index in range(len(crowd.places)):
        _choose(index, crowd, shelves, ground, machines, near, law)
    for index in range(len(crowd.places)):
        vx, vy = crowd.velocities[index, 0], crowd.velocities[index, 1]
        if vx == 0.0 and vy == 0.0:
            continue
        done = False
        # The whole step, or half of it: a person in a throng edges on.
        for share in (1.0, 0.5):
            if done:
                continue
            x, y, clear = _off_walls(
                crowd.places[index, 0] + share * vx * dt,
                crowd.places[index, 1] + share * vy * dt,
                crowd.radii[index],
                ground,
            )
            if clear and _has_room(index, x, y, crowd, shelves, machines, near):
                crowd.velocities[index, 0] = (x - crowd.places[index, 0]) / dt
                crowd.velocities[index, 1] = (y - crowd.places[index, 1]) / dt
                crowd.places[index, 0], crowd.places[index, 1] = x, y
                done = True
        if not done:
            crowd.velocities[index, 0] = crowd.velocities[index, 1] = 0.0


@inlined
def _exp(value: float) -> float:
    """Return about e to the power of a number, by products that are the same on all machines."""
    root = max(1.0 + min(value, 8.0) / 1024.0, 0.0)
    for _ in range(10):
        root *= root
    return root


@inlined
def _wanted(index: int, crowd: Crowd, ground: Ground) -> tuple[float, float]:
    """Return the direction in which a person would go if it was alone."""
    x, y = crowd.places[index, 0], crowd.places[index, 1]
    if crowd.does[index] == AIMS:
        return crowd.aims[index, 0], crowd.aims[index, 1]
    height, width = ground.blocked.shape
    u, v = x / ground.cell - 0.5, y / ground.cell - 0.5
    column, row = int(np.floor(u)), int(np.floor(v))
    fx, fy = u - column, v - row
    ex, ey = 0.0, 0.0
    field = crowd.fields[index]
    for up in range(2):
        for right in range(2):
            r, c = row + up, column + right
            if 0 <= r < height and 0 <= c < width:
                weight = (fx if right else 1.0 - fx) * (fy if up else 1.0 - fy)
                ex += weight * ground.ways[field, r, c, 0]
                ey += weight * ground.ways[field, r, c, 1]
    norm = np.sqrt(ex * ex + ey * ey)
    if norm < 1e-3:
        # It is there, but for the rest of the way to the very point.
        ex, ey = crowd.ends[index, 0] - x, crowd.ends[index, 1] - y
        norm = max(np.sqrt(ex * ex + ey * ey), 1e-9)
    ex, ey = ex / norm, ey / norm
    if crowd.turns[index] != 0.0:
        sine, cosine = sin_cos(crowd.turns[index])
        ex, ey = cosine * ex - sine * ey, sine * ex + cosine * ey
    return ex, ey


@inlined
def _choose(
    index: int, crowd: Crowd, shelves: Shelves, ground: Ground, machines: Machines, near: Shelves, law: Law
) -> None:
    """Find the velocity of a person, from where all stand."""
    crowd.velocities[index, 0] = crowd.velocities[index, 1] = 0.0
    if crowd.does[index] == STANDS:
        return
    x, y, radius, speed = crowd.places[index, 0], crowd.places[index, 1], crowd.radii[index], crowd.speeds[index]
    ex, ey = _wanted(index, crowd, ground)
    # Who makes room for a robot squeezes past others.
    squeezes = crowd.does[index] == AIMS
    if not squeezes:
        ex, ey = _around_machines(index, ex, ey, crowd, machines, near)
    below, above, left, right = _around(x, y, shelves)
    px, py = ex, ey
    for first in range(below * shelves.columns, above * shelves.columns, shelves.columns):
        for at in range(shelves.begins[first + left], shelves.begins[first + right]):
            other = shelves.order[at]
            dx, dy = x - crowd.places[other, 0], y - crowd.places[other, 1]
            square = dx * dx + dy * dy
            if other == index or square > 1.0:
                continue
            distance = max(np.sqrt(square), 1e-6)
            push = law.push * _exp((radius + crowd.radii[other] + law.room - distance) / law.pull_off) / distance
            px, py = px + push * dx, py + push * dy
    wx, wy, gap = _wall(x, y, radius + 0.3, ground)
    if gap < radius + 0.3 and not squeezes:
        push = law.wall_push * _exp((radius - gap) / law.wall_pull_off)
        px, py = px + push * wx, py + push * wy
    norm = np.sqrt(px * px + py * py)
    if norm < 1e-9:
        return
    ex, ey = px / norm, py / norm
    free = speed * law.time_gap
    for first in range(below * shelves.columns, above * shelves.columns, shelves.columns):
        for at in range(shelves.begins[first + left], shelves.begins[first + right]):
            other = shelves.order[at]
            dx, dy = crowd.places[other, 0] - x, crowd.places[other, 1] - y
            width = radius + crowd.radii[other] + law.room
            if other != index and dx * ex + dy * ey > 0.0 and abs(ex * dy - ey * dx) <= law.strip * width:
                free = min(free, np.sqrt(dx * dx + dy * dy) - width)
    if not squeezes:
        free = _gap_to_machines(x, y, ex, ey, radius, free, machines, near)
    free = max(free, 0.0)
    pace = min(free / law.time_gap, speed)
    crowd.velocities[index, 0], crowd.velocities[index, 1] = pace * ex, pace * ey


ROOM = 0.02
"""In m: what people keep between them and robots in any case."""
SLACK = 0.01
"""In m: so far people may be in a wall or a robot's way where they look for a way: they are put off walls."""
PASSING = 0.15
"""In m: what people keep between them and a robot that they walk around."""
LOOKS = 2.5
"""In m: so far ahead they look for robots."""


@inlined
def _around_machines(
    index: int, ex: float, ey: float, crowd: Crowd, machines: Machines, near: Shelves
) -> tuple[float, float]:
    """Return a direction that leads past the nearest robot in the way, on the nearer side of it."""
    x, y = crowd.places[index, 0], crowd.places[index, 1]
    below, above, left, right = _around(x, y, near)
    nearest, tx, ty = LOOKS, ex, ey
    for first in range(below * near.columns, above * near.columns, near.columns):
        for at in range(near.begins[first + left], near.begins[first + right]):
            machine = near.order[at]
            dx, dy = machines.places[machine, 0] - x, machines.places[machine, 1] - y
            distance = max(np.sqrt(dx * dx + dy * dy), 1e-6)
            wide = crowd.radii[index] + machines.radii[machine] + PASSING
            ahead, aside = dx * ex + dy * ey, ex * dy - ey * dx
            if distance >= nearest or ahead <= 0.0 or abs(aside) >= wide:
                continue
            nearest = distance
            # Along the tangent of a disc about it; the one straight ahead is passed on its right.
            sine = min(wide / distance, 1.0)
            cosine = np.sqrt(max(1.0 - sine * sine, 0.0))
            if aside >= 0.0:
                sine = -sine
            ux, uy = dx / distance, dy / distance
            tx, ty = cosine * ux - sine * uy, sine * ux + cosine * uy
    return tx, ty


@inlined
def _gap_to_machines(
    x: float, y: float, ex: float, ey: float, radius: float, free: float, machines: Machines, near: Shelves
) -> float:
    """Return how far a person at (x, y) can go along (ex, ey) until it is at a robot, at most `free`."""
    below, above, left, right = _around(x, y, near)
    for first in range(below * near.columns, above * near.columns, near.columns):
        for at in range(near.begins[first + left], near.begins[first + right]):
            machine = near.order[at]
            dx, dy = machines.places[machine, 0] - x, machines.places[machine, 1] - y
            width = radius + machines.radii[machine]
            if dx * ex + dy * ey > 0.0 and abs(ex * dy - ey * dx) <= width:
                free = min(free, np.sqrt(dx * dx + dy * dy) - width - 0.05)
    return free


@inlined
def _wall(x: float, y: float, reach: float, ground: Ground) -> tuple[float, float, float]:
    """Return the direction (x, y) away from the nearest wall within `reach` m, and how far it is; FAR for none."""
    height, width = ground.blocked.shape
    column, row = int(np.floor(x / ground.cell)), int(np.floor(y / ground.cell))
    nx, ny, nearest = 0.0, 0.0, FAR
    if 0 <= column < width and 0 <= row < height and not ground.tight[row, column]:
        return nx, ny, nearest
    steps = int(np.ceil(reach / ground.cell))
    for r in range(row - steps, row + steps + 1):
        for c in range(column - steps, column + steps + 1):
            # Nothing is walked on beyond the edge.
            if 0 <= r < height and 0 <= c < width and not ground.blocked[r, c]:
                continue
            dx = x - min(max(x, c * ground.cell), (c + 1) * ground.cell)
            dy = y - min(max(y, r * ground.cell), (r + 1) * ground.cell)
            distance = np.sqrt(dx * dx + dy * dy)
            if distance < nearest:
                nearest = distance
                if distance > 0.0:
                    nx, ny = dx / distance, dy / distance
    return nx, ny, nearest


@inlined
def _off_walls(x: float, y: float, radius: float, ground: Ground) -> tuple[float, float, bool]:
    """Return the nearest point to (x, y) that is `radius` off all walls, and whether it was found."""
    for _ in range(3):
        nx, ny, gap = _wall(x, y, radius, ground)
        if gap >= radius - 1e-9:
            return x, y, True
        if gap <= 0.0:
            return x, y, False
        x, y = x + (radius - gap) * nx, y + (radius - gap) * ny
    return x, y, False


@inlined
def _has_room(
    index: int, x: float, y: float, crowd: Crowd, shelves: Shelves, machines: Machines, near: Shelves
) -> bool:
    """Return whether a person can be at (x, y): it touches nobody there, or less than where it is."""
    if not _is_off_others(index, x, y, crowd, shelves):
        return False
    ox, oy, radius = crowd.places[index, 0], crowd.places[index, 1], crowd.radii[index]
    below, above, left, right = _around(x, y, near)
    # A long step must not cut a corner either.
    mx, my = 0.5 * (x + ox), 0.5 * (y + oy)
    for first in range(below * near.columns, above * near.columns, near.columns):
        for at in range(near.begins[first + left], near.begins[first + right]):
            machine = near.order[at]
            if not _is_off(x, y, ox, oy, radius, machine, machines):
                return False
            if not _is_off(mx, my, ox, oy, radius, machine, machines):
                return False
    return True


@inlined
def _is_off_others(index: int, x: float, y: float, crowd: Crowd, shelves: Shelves) -> bool:
    """Return whether a person touches nobody at (x, y), or less than where it is."""
    ox, oy, radius = crowd.places[index, 0], crowd.places[index, 1], crowd.radii[index]
    below, above, left, right = _around(x, y, shelves)
    for first in range(below * shelves.columns, above * shelves.columns, shelves.columns):
        for at in range(shelves.begins[first + left], shelves.begins[first + right]):
            other = shelves.order[at]
            dx, dy = x - crowd.places[other, 0], y - crowd.places[other, 1]
            width = radius + crowd.radii[other]
            square = dx * dx + dy * dy
            if other != index and square < width * width:
                dx, dy = ox - crowd.places[other, 0], oy - crowd.places[other, 1]
                if square <= dx * dx + dy * dy:
                    return False
    return True


@inlined
def _is_off(x: float, y: float, ox: float, oy: float, radius: float, machine: int, machines: Machines) -> bool:
    """Return whether a person may come from (ox, oy) to (x, y), for all that one robot does: it does not come nearer
    to it than ROOM, and does not enter its way."""
    dx, dy = x - machines.places[machine, 0], y - machines.places[machine, 1]
    reach = max(machines.stops[machine], machines.claims[machine]) + machines.rounds[machine] + radius + ROOM
    reach += machines.sizes[machine, 0] + machines.sizes[machine, 1]
    if dx * dx + dy * dy > reach * reach:
        return True
    px, py = ox - machines.places[machine, 0], oy - machines.places[machine, 1]
    hx, hy, stop = machines.headings[machine, 0], machines.headings[machine, 1], machines.stops[machine]
    long, wide = machines.halves[machine, 0], machines.halves[machine, 1]
    least = radius + machines.rounds[machine] + ROOM
    square = _square_to(dx, dy, hx, hy, long, wide, stop)
    if square < least * least and square < _square_to(px, py, hx, hy, long, wide, stop) - 1e-9:
        return False
    hx, hy, stop = machines.ways[machine, 0], machines.ways[machine, 1], machines.claims[machine]
    long, wide = machines.sizes[machine, 0], machines.sizes[machine, 1]
    least = radius - SLACK
    enters = stop > 0.0 and _square_to(dx, dy, hx, hy, long, wide, stop) < least * least
    return not enters or _square_to(px, py, hx, hy, long, wide, stop) < least * least


@inlined
def _square_to(dx: float, dy: float, hx: float, hy: float, long: float, wide: float, ahead: float) -> float:
    """Return the square of the distance of (dx, dy) to a box about 0 along (hx, hy), or up to `ahead` m further on."""
    along, across = dx * hx + dy * hy, hx * dy - hy * dx
    along -= min(max(along, -long), long + ahead)
    across -= min(max(across, -wide), wide)
    return along * along + across * across


# How people make room for robots that wait for them: they look for a spot off the ways of these, and go there.

LOOK = 0.25
"""In s: so often they look around."""
PACE = 0.4
"""In m/s: how fast they go at most."""
CLEAR = 0.04
"""In m: kept to the ways of robots."""
IN_THE_WAY = 1.2
"""In m: people so near before a robot that waits are in its way."""
STEP, STEPS = 0.12, 41
"""They look at so many points in a row, so far apart in m."""
MIDDLE = STEPS // 2
KEPT, CLEARED, NOWHERE = 0, 1, 6
"""How good a spot is: the one that it had, and off all ways where robots can also turn, are the best."""


class Waiting(NamedTuple):
    """Robots around people: `wants` (K,), the numbers of those that want to drive; `needs` (M, 2), the places of the
    nodes that they wait for, nan for none; within `keep` m of these they may not be entered.

    `before` (STEPS * STEPS,), `queue` (STEPS * STEPS,) and `close` (K,) are room to work in.
    """

    wants: Ints
    needs: Floats
    keep: float
    before: Ints
    queue: Ints
    close: Ints


@compiled
def make_room(
    who: Ints,
    whom: Ints,
    shift: tuple[float, float],
    spots: Floats,
    asides: Floats,
    crowd: Crowd,
    shelves: Shelves,
    ground: Ground,
    machines: Machines,
    near: Shelves,
    waiting: Waiting,
) -> None:
    """Write the spots (K, 2) to which people `who` (K,) go, nan for none, and the directions there in `asides` (K, 2),
    0 to stand; `whom` (K,) are the robots that wait for them.

    They keep to the spots that they had while they can get there. Points are looked at along the ways there, the
    nearest first, `shift` (x, y) of their distance off each person.
    """
    for number in range(len(who)):
        x, y, ex, ey = _found_spot(
            who[number],
            whom[number],
            shift,
            (spots[number, 0], spots[number, 1]),
            crowd,
            shelves,
            ground,
            machines,
            near,
            waiting,
        )
        spots[number, 0], spots[number, 1], asides[number, 0], asides[number, 1] = x, y, ex, ey


@compiled
def _found_spot(
    index: int,
    machine: int,
    shift: tuple[float, float],
    spot: tuple[float, float],
    crowd: Crowd,
    shelves: Shelves,
    ground: Ground,
    machines: Machines,
    near: Shelves,
    waiting: Waiting,
) -> tuple[float, float, float, float]:
    """Return the spot (x, y) to which a person goes, and the direction (x, y) there, as `make_room` writes them."""
    before, queue, close = waiting.before, waiting.queue, waiting.close
    px, py = crowd.places[index, 0], crowd.places[index, 1]
    # The point in the middle is where it stands, but for the shift.
    x, y = px + STEP * (shift[0] - MIDDLE), py + STEP * (shift[1] - MIDDLE)
    count = 0
    for number in range(len(waiting.wants)):
        other = waiting.wants[number]
        dx, dy = machines.places[other, 0] - px, machines.places[other, 1] - py
        if other != machine and dx * dx + dy * dy < (STEP * STEPS) ** 2:
            close[count] = other
            count += 1
    middle, kept = MIDDLE * STEPS + MIDDLE, -1
    if not np.isnan(spot[0]):
        column, row = int(np.floor((spot[0] - x) / STEP + 0.5)), int(np.floor((spot[1] - y) / STEP + 0.5))
        # Where it is already, it looks for another one.
        if 0 <= column < STEPS and 0 <= row < STEPS and row * STEPS + column != middle:
            kept = row * STEPS + column
    before[:] = -1
    before[middle], queue[0] = middle, middle
    best, rank, first, last = -1, NOWHERE, 0, 1
    while first < last and rank > (KEPT if kept >= 0 else CLEARED):
        at = queue[first]
        first += 1
        row, column = at // STEPS, at % STEPS
        found = KEPT
        if at != kept:
            edge = row == 0 or column == 0 or row == STEPS - 1 or column == STEPS - 1
            found = _rank_of(
                x + STEP * column, y + STEP * row, crowd.radii[index], edge, machine, count, machines, waiting
            )
        if found < rank:
            best, rank = at, found
        for side in range(4):
            up, right = row + (side == 2) - (side == 3), column + (side == 0) - (side == 1)
            if 0 <= up < STEPS and 0 <= right < STEPS and before[up * STEPS + right] == -1:
                free = _can_stand(index, x + STEP * right, y + STEP * up, crowd, shelves, ground, machines, near)
                before[up * STEPS + right] = at if free else -2
                if free:
                    queue[last] = up * STEPS + right
                    last += 1
    if best < 0:
        return np.nan, np.nan, 0.0, 0.0
    ex, ey = x + STEP * (best % STEPS), y + STEP * (best // STEPS)
    if best == middle:
        return ex, ey, 0.0, 0.0
    while before[best] != middle:
        best = before[best]
    dx, dy = x + STEP * (best % STEPS) - px, y + STEP * (best // STEPS) - py
    norm = max(np.sqrt(dx * dx + dy * dy), 1e-9)
    return ex, ey, dx / norm, dy / norm


@inlined
def _rank_of(
    x: float, y: float, radius: float, edge: bool, machine: int, count: int, machines: Machines, waiting: Waiting
) -> int:
    """Return how good a spot is: off all ways, else off that of the `machine` that waits for this person, each best
    where the robots can turn as well; else, between walls, ahead of it as far as it sees; or NOWHERE."""
    rank = CLEARED
    for number in range(count):
        bars, keeps = _in_the_way(x, y, radius, waiting.close[number], machines, waiting)
        rank = max(rank, 3 if bars else 2 if keeps else CLEARED)
    bars, keeps = _in_the_way(x, y, radius, machine, machines, waiting)
    if bars:
        dx, dy = x - machines.places[machine, 0], y - machines.places[machine, 1]
        ahead = dx * machines.headings[machine, 0] + dy * machines.headings[machine, 1] > 0.0
        return 5 if edge and ahead else NOWHERE
    return max(rank, (4 if rank == 3 else 2) if keeps else rank)


@inlined
def _in_the_way(
    x: float, y: float, radius: float, machine: int, machines: Machines, waiting: Waiting
) -> tuple[bool, bool]:
    """Return whether a person at (x, y) is on the way of a robot, and whether it keeps that from turning."""
    dx, dy = x - machines.places[machine, 0], y - machines.places[machine, 1]
    hx, hy = machines.headings[machine, 0], machines.headings[machine, 1]
    if machines.claims[machine] > 0.0:
        hx, hy = machines.ways[machine, 0], machines.ways[machine, 1]
    ahead, aside = dx * hx + dy * hy, abs(hx * dy - hy * dx)
    around, wide = machines.radii[machine] + radius, machines.sizes[machine, 1] + radius
    bars = aside <= wide + CLEAR and 0.0 <= ahead <= around + IN_THE_WAY
    nx, ny = x - waiting.needs[machine, 0], y - waiting.needs[machine, 1]
    bars = bars or nx * nx + ny * ny < (waiting.keep + radius + CLEAR) ** 2
    return bars, dx * dx + dy * dy <= (around + CLEAR) ** 2


@inlined
def _can_stand(
    index: int, x: float, y: float, crowd: Crowd, shelves: Shelves, ground: Ground, machines: Machines, near: Shelves
) -> bool:
    """Return whether a person can stand at (x, y) beside robots and others.

    Those that are in its way already may be, unless it would come nearer to them.
    """
    radius, (height, width) = crowd.radii[index], ground.blocked.shape
    column, row = int(np.floor(x / ground.cell)), int(np.floor(y / ground.cell))
    if not (0 <= column < width and 0 <= row < height) or _wall(x, y, radius, ground)[2] <= radius - SLACK:
        return False
    below, above, left, right = _around(x, y, near)
    for begin in range(below * near.columns, above * near.columns, near.columns):
        for at in range(near.begins[begin + left], near.begins[begin + right]):
            if not _is_off(x, y, crowd.places[index, 0], crowd.places[index, 1], radius, near.order[at], machines):
                return False
    return _is_off_others(index, x, y, crowd, shelves)
