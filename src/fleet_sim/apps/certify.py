"""`fleet-sim certify FILE`: prove from a certificate alone that its robots touched nothing, at any time.

This program imports nothing of the simulator, and runs without it: `python certify.py FILE`. A certificate is a line
of JSON about the floor, then blocks: a line of JSON with the robots that come in it, and pieces of motion, each of 11
float64: robot, time, x, y, velocity x y, acceleration x y, yaw, yaw rate, yaw acceleration. A piece lasts until the
next one of its robot; x is no number where it leaves. Proved are, at all times: no footprint overlaps another or a
blocked cell; positions, headings and velocities have no jumps; limits of speeds and accelerations are kept; robots that
turn to where they drive do so. The proof is by bounds: two bodies whose gap is g, and that come nearer by at most v
m/s, do not touch within g / v seconds before and after. Where that is not the whole of a piece, its halves are tried.
"""

from __future__ import annotations

import json
import math
import signal
import sys
from typing import Any

import numpy as np

try:
    from numba import njit
except ImportError:
    njit = lambda **_: lambda function: function  # type: ignore[assignment]  # noqa: E731 - slow

DEPTH, ROUNDING = 1e-6, (1e-6, 1e-6, 1e-4, 1e-6, 1e-4, 1e-6)
"""Less is rounding: of an overlap in m; of the `KINDS`, in their units, of jumps and of what they are exceeded by in a
time that is over before it is one, so much at once and in each second."""
MOST_PIECES, MOST_BYTES, MOST_LINES, LARGEST, LOOKS = 5_000_000, 50_000_000, 20, 1e9, 1_000
"""Of a block; of a line of JSON; of violations that are printed; of any number; for each piece and robot."""
LIMITS = "speed by {:g} m/s", "acceleration by {:g} m/s²", "turn rate by {:g} rad/s", "turn acceleration by {:g} rad/s²"
KINDS = "jumps by {:g} m, rad or per s", *(f"exceeds its {limit}" for limit in LIMITS), "drives aside at {:g} m/s"
T, X, Y, VX, VY, AX, AY, YAW, W, WA = range(10)
ROBOT = ("hx", "hy", "rim", "speed", "accel", "spin", "spin_accel", "turns")
AROUND, REACH = 8, 9  # Beside these: half the diagonal of the rectangle, and that with the rim.


@njit(cache=True)
def spend(looks: Any, amount: Any) -> None:
    """Take an amount from the looks that are left."""
    looks[0] -= amount
    if not looks[0] >= 0.0:
        raise ValueError("a proof of its pieces would take too long: they are too fast, too long or too near")


@njit(cache=True)
def at(p: Any, t: Any) -> Any:
    """Return x, y and yaw of a piece at a time."""
    s = t - p[T]
    half = 0.5 * s * s
    return p[X] + p[VX] * s + p[AX] * half, p[Y] + p[VY] * s + p[AY] * half, p[YAW] + p[W] * s + p[WA] * half


@njit(cache=True)
def gap(ax: Any, ay: Any, ayaw: Any, a: Any, bx: Any, by: Any, byaw: Any, b: Any) -> Any:
    """Return how far apart two footprints are, at most their distance; below 0 they overlap.

    A footprint is a rectangle of half sides a[0] and a[1] with a rim of a[2] m around: a disc has no sides.
    """
    dx, dy, rims = bx - ax, by - ay, a[2] + b[2]
    if a[0] + a[1] == 0.0 and b[0] + b[1] == 0.0:
        return math.sqrt(dx * dx + dy * dy) - rims
    if a[0] + a[1] == 0.0:
        return gap(bx, by, byaw, b, ax, ay, ayaw, a)
    ca, sa = math.cos(ayaw), math.sin(ayaw)
    x, y = abs(ca * dx + sa * dy), abs(ca * dy - sa * dx)
    if b[0] + b[1] == 0.0:
        x, y = x - a[0], y - a[1]
        return (math.sqrt(x * x + y * y) if x > 0.0 and y > 0.0 else max(x, y)) - rims
    c, s = abs(math.cos(byaw - ayaw)), abs(math.sin(byaw - ayaw))
    most = max(x - a[0] - c * b[0] - s * b[1], y - a[1] - s * b[0] - c * b[1])
    cb, sb = math.cos(byaw), math.sin(byaw)
    x, y = abs(cb * dx + sb * dy), abs(cb * dy - sb * dx)
    return max(most, x - b[0] - c * a[0] - s * a[1], y - b[1] - s * a[0] - c * a[1]) - rims


@njit(cache=True)
def fastest(p: Any, a: Any, lo: Any, hi: Any) -> Any:
    """Return a bound of the speed of every point of a footprint's rectangle between two times."""
    s, t = lo - p[T], hi - p[T]
    ux, uy, vx, vy = p[VX] + p[AX] * s, p[VY] + p[AY] * s, p[VX] + p[AX] * t, p[VY] + p[AY] * t
    v = math.sqrt(max(ux * ux + uy * uy, vx * vx + vy * vy))
    return v + max(abs(p[W] + p[WA] * s), abs(p[W] + p[WA] * t)) * a[AROUND]


@njit(cache=True)
def least_gap(p: Any, a: Any, q: Any, b: Any, lo: Any, hi: Any, stack: Any, looks: Any) -> Any:
    """Return (gap, time): the first overlap that is found between two times, or else the least gap looked at."""
    least, when = np.inf, lo
    stack[0, 0], stack[0, 1], count = lo, hi, 1
    while count:
        count -= 1
        spend(looks, 1.0)
        begin, end = stack[count, 0], stack[count, 1]
        mid = 0.5 * (begin + end)
        (px, py, pyaw), (qx, qy, qyaw) = at(p, mid), at(q, mid)
        # The cheap bound first: discs around both.
        apart = math.sqrt((qx - px) ** 2 + (qy - py) ** 2) - a[REACH] - b[REACH]
        reach = 0.5 * (end - begin) * (fastest(p, a, begin, end) + fastest(q, b, begin, end))
        if apart > reach:
            continue
        apart = gap(px, py, pyaw, a, qx, qy, qyaw, b)
        if apart < least:
            least, when = apart, mid
        if apart < -DEPTH:
            return apart, mid
        if apart + DEPTH <= reach:
            spend(looks, 0.0 if begin < mid < end and end - begin > 1e-13 else math.inf)
            stack[count, 0], stack[count, 1], stack[count + 1, 0], stack[count + 1, 1] = mid, end, begin, mid
            count += 2
    return least, when


@njit(cache=True)
def extents(pieces: Any, spans: Any, robots: Any, whose: Any) -> Any:
    """Return the boxes (N, 4) that pieces do not leave: least x and y, largest x and y; nan of who is nowhere."""
    sides = np.empty((len(pieces), 4))
    for place, p in enumerate(pieces):
        a, lo, hi = robots[whose[place]], spans[place, 0], spans[place, 1]
        (x0, y0, yaw), (x1, y1, yaw1) = at(p, lo), at(p, hi)
        # A parabola leaves the box of its ends by an eighth of this.
        eighth = 0.125 * (hi - lo) ** 2
        around, turned = a[2] + eighth * max(abs(p[AX]), abs(p[AY])), max(abs(yaw), abs(yaw1)) + eighth * abs(p[WA])
        if max(abs(x0), abs(x1), abs(y0), abs(y1), turned, turned * a[AROUND]) + around > LARGEST:
            raise ValueError("a piece leads farther than numbers are exact")
        wide = high = around + a[AROUND]
        if a[AROUND] > 0.0 and p[W] == 0.0 and p[WA] == 0.0:
            c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
            wide, high = around + c * a[0] + s * a[1], around + s * a[0] + c * a[1]
        sides[place, 0], sides[place, 1] = min(x0, x1) - wide, min(y0, y1) - high
        sides[place, 2], sides[place, 3] = max(x0, x1) + wide, max(y0, y1) + high
    return sides


@njit(cache=True)
def meetings(pieces: Any, spans: Any, robots: Any, whose: Any, firsts: Any, sides: Any, boxes: Any, looks: Any) -> Any:
    """Return the least gap of all pairs that come near, and those that overlap, as (robot, other, time, gap)."""
    stack, least, found = np.empty((200, 2)), np.inf, [(0, 0, 0.0, 0.0) for _ in range(0)]
    # Those that are nowhere come last.
    order = np.argsort(boxes[:, 0])[: np.count_nonzero(~np.isnan(boxes[:, 0]))]
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if boxes[other, 0] > boxes[one, 2]:
                break
            if boxes[other, 1] > boxes[one, 3] or boxes[other, 3] < boxes[one, 1]:
                continue
            i, j = firsts[one], firsts[other]
            while i < firsts[one + 1] and j < firsts[other + 1]:
                lo, hi = max(spans[i, 0], spans[j, 0]), min(spans[i, 1], spans[j, 1])
                near = sides[i, 0] <= sides[j, 2] and sides[j, 0] <= sides[i, 2]
                if hi > lo and near and sides[i, 1] <= sides[j, 3] and sides[j, 1] <= sides[i, 3]:
                    apart, when = least_gap(pieces[i], robots[one], pieces[j], robots[other], lo, hi, stack, looks)
                    if apart < -DEPTH:
                        found.append((one, other, when, apart))
                    least = min(least, apart)
                first = spans[i, 1] <= spans[j, 1]
                i, j = i + int(first), j + int(not first)
    return least, found


@njit(cache=True)
def walls(pieces: Any, spans: Any, robots: Any, whose: Any, cells: Any, looks: Any, blocked: Any, cell: Any) -> Any:
    """Return the same of robots and cells of `blocked` (H, W), whose lowest row is first; beyond it all is blocked."""
    stack, least, found = np.empty((200, 2)), np.inf, [(0, 0, 0.0, 0.0) for _ in range(0)]
    square, wall = np.array((0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5**0.5, 0.5**0.5)) * cell, np.zeros(10)
    for place, p in enumerate(pieces):
        left, low, right, up = cells[place, 0], cells[place, 1], cells[place, 2], cells[place, 3]
        if np.isnan(left):
            continue
        spend(looks, (right - left + 1.0) * (up - low + 1.0) if max(-left, -low, right, up) < LARGEST else math.inf)
        for row in range(math.floor(low), math.floor(up) + 1):
            for column in range(math.floor(left), math.floor(right) + 1):
                if 0 <= row < blocked.shape[0] and 0 <= column < blocked.shape[1] and not blocked[row, column]:
                    continue
                wall[X], wall[Y], lo, hi = (column + 0.5) * cell, (row + 0.5) * cell, spans[place, 0], spans[place, 1]
                apart, when = least_gap(p, robots[whose[place]], wall, square, lo, hi, stack, looks)
                if apart < -DEPTH:
                    found.append((whose[place], -1, when, apart))
                least = min(least, apart)
    return least, found


@njit(cache=True)
def motions(pieces: Any, spans: Any, robots: Any, whose: Any, rounded: Any) -> Any:
    """Return where robots jump or exceed their limits, as (robot, kind, time, amount).

    `rounded` (N, 6): what there was of each kind without being one; many small jumps are a large one.
    """
    found, values = [(0, 0, 0.0, 0.0) for _ in range(0)], np.empty(6)
    for place, p in enumerate(pieces):
        robot, lo, hi, turns = whose[place], spans[place, 0], spans[place, 1], p[W] != 0.0 or p[WA] != 0.0
        if np.isnan(p[X]):
            continue
        values[:], a, q, small = 0.0, robots[robot], pieces[place - 1], rounded[robot]
        if place > 0 and whose[place - 1] == robot and not np.isnan(q[X]):
            (x0, y0, yaw0), (x1, y1, yaw1), s = at(q, lo), at(p, lo), lo - q[T]
            turned = yaw1 - yaw0 - 2 * math.pi * round((yaw1 - yaw0) / 2 / math.pi)
            faster = math.hypot(p[VX] - q[VX] - q[AX] * s, p[VY] - q[VY] - q[AY] * s)
            small[0] += max(math.hypot(x1 - x0, y1 - y0), abs(turned), faster, abs(p[W] - q[W] - q[WA] * s))
        for t in (lo, hi):
            vx, vy = p[VX] + p[AX] * (t - p[T]), p[VY] + p[AY] * (t - p[T])
            speed = math.sqrt(vx * vx + vy * vy)
            values[1] = max(values[1], speed - a[3])
            values[3] = max(values[3], abs(p[W] + p[WA] * (t - p[T])) - a[5])
            if speed > 0.0 and a[7] > 0.0:
                aside = speed if turns else abs(math.cos(p[YAW]) * vy - math.sin(p[YAW]) * vx)
                values[5] = max(values[5], a[7] * aside)
        values[0], values[2], values[4] = small[0], math.sqrt(p[AX] ** 2 + p[AY] ** 2) - a[4], abs(p[WA]) - a[6]
        for kind in (0, 2, 4):
            small[kind] += (hi - lo) * max(values[kind] - ROUNDING[kind], 0.0) if kind else 0.0
            if small[kind] > ROUNDING[0]:
                small[kind] = 0.0
            else:
                small[kind], values[kind] = max(small[kind] - ROUNDING[0] * (hi - lo), 0.0), 0.0
        for kind in range(6):
            if not values[kind] <= ROUNDING[kind]:
                found.append((robot, kind, lo, values[kind]))  # noqa: PERF401 - slow
    return found


def certify(stream: Any, floor: list[str] | None = None) -> tuple[dict[str, float], list[str]]:
    """Return figures of the certificate in a binary `stream`, and the first lines that say what is not so.

    `floor`: the rows that it must have. Raises ValueError and KeyError for what is no certificate.
    """
    head = json.loads(stream.readline(MOST_BYTES) or "null")
    if not isinstance(head, dict) or head.get("format") != "fleet_sim certificate 1":
        raise ValueError("this is no certificate")
    # In the frame of the grid from here on, whose lowest row comes first.
    blocked = np.array([[mark == "@" for mark in row] for row in reversed(head["rows"])], bool)
    cell, (east, north, turn) = float(head["cell"]), head["origin"]
    if blocked.ndim != 2 or not 0.0 < cell < LARGEST or floor not in (None, head["rows"]):
        raise ValueError("its floor has no cells, or is not that of the map")
    along = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
    names, robots, state = list[str](), np.empty((0, len(ROBOT) + 2)), np.empty((0, 10))
    rounded = np.empty((0, len(KINDS)))
    begin, total, robot_seconds, lines, broken = float(head["begin"]), 0, 0.0, list[str](), 0
    start, least, looks = begin, [np.inf, np.inf], np.array([1e6])
    while text := stream.readline(MOST_BYTES):
        block = json.loads(text)
        until, count = float(block["until"]), int(block["pieces"])
        names += [str(robot["name"]) for robot in block["robots"]]
        new = np.array([[float(robot[key]) for key in ROBOT] for robot in block["robots"]]).reshape(-1, len(ROBOT))
        if not (begin <= until < LARGEST and 0 <= count <= MOST_PIECES and ((new >= 0.0) & (new < np.inf)).all()):
            raise ValueError(f"a block that ends at {until:g} s with {count} pieces, or a robot of no size")
        bodies = np.column_stack((new, np.hypot(new[:, 0], new[:, 1]), np.hypot(new[:, 0], new[:, 1]) + new[:, 2]))
        robots, state = np.vstack((robots, bodies)), np.vstack((state, np.full((len(new), 10), np.nan)))
        rounded = np.vstack((rounded, np.zeros((len(new), len(KINDS)))))
        raw = stream.read(count * 88)
        if len(raw) < count * 88:
            raise ValueError(f"it ends within the block that ends at {until:g} s")
        rows = np.frombuffer(raw, "<f8").reshape(count, 11)
        who, own = rows[:, 0].astype(int), rows[:, 1:].copy()
        own[:, X], own[:, Y], own[:, YAW] = own[:, X] - east, own[:, Y] - north, own[:, YAW] - turn
        for first in (X, VX, AX) if turn else ():
            own[:, first : first + 2] = own[:, first : first + 2] @ along
        inside = (begin <= own[:, T]) & (own[:, T] <= until) & (who >= 0) & (who < len(names))
        if not (inside & ((abs(own) < LARGEST).all(axis=1) | np.isnan(rows[:, 2]))).all():
            raise ValueError(f"a piece of no robot, out of its block or of no numbers, before {until:g} s")
        # The pieces of each robot, after the one that it was on; one that has not come yet is nowhere.
        whose = np.concatenate((np.arange(len(names)), who))
        order = np.argsort(whose, kind="stable")
        pieces, whose = np.vstack((state, own))[order], whose[order]
        firsts = np.searchsorted(whose, np.arange(len(names) + 1))
        ends = np.append(pieces[1:, T], until)
        ends[firsts[1:] - 1] = until
        spans = np.column_stack((np.fmax(pieces[:, T], begin), ends))
        left = np.isnan(pieces[:-1, X]) & (pieces[:-1, T] < np.inf) & (whose[1:] == whose[:-1])
        if not (spans[:, 0] <= spans[:, 1]).all() or not np.isnan(pieces[1:, X][left]).all():
            raise ValueError(f"pieces of a robot out of order, or after it left, before {until:g} s")
        robot_seconds += float((spans[:, 1] - spans[:, 0])[~np.isnan(pieces[:, X])].sum())
        moved = pieces, spans, robots, whose
        sides, own = extents(*moved), firsts[:-1]
        boxes = np.hstack((np.fmin.reduceat(sides[:, :2], own), np.fmax.reduceat(sides[:, 2:], own)))
        looks += LOOKS * len(pieces)
        for one, kind, when, more in motions(*moved, rounded):
            lines.append(f"{when:.6f} s: {names[one]} {KINDS[kind].format(more)}")
        near = meetings(*moved, firsts, sides, boxes, looks), walls(*moved, sides / cell, looks, blocked, cell)
        for place, (closest, found) in enumerate(near):
            least[place] = min(least[place], closest)
            for robot, other, when, apart in found:
                what = "a blocked cell" if other < 0 else names[other]
                lines.append(f"{when:.6f} s: {names[robot]} overlaps {what} by {-apart:.6g} m")
        broken += max(len(lines) - MOST_LINES, 0)
        del lines[MOST_LINES:]
        total, begin, state = total + count, until, pieces[firsts[1:] - 1]
    figures = {"robots": len(names), "seconds": begin - start, "robot_seconds": robot_seconds, "pieces": total}
    body = {"least": 2.0 * (robots[:, :2].min(axis=1) + robots[:, 2]).min(initial=np.inf), "cell": cell}
    figures |= {**body, "fastest": robots[:, 3].max(initial=0.0)}
    return {**figures, "violations": broken + len(lines), "gap": least[0], "clearance": least[1]}, lines


def rows_of_map(path: str) -> list[str]:
    """Return the rows of a .map of the MovingAI benchmarks, with @ for what is blocked."""
    with open(path, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    return ["".join("." if mark in ".GS" else "@" for mark in row) for row in lines[lines.index("map") + 1 :] if row]


def main(file: str, map_file: str | None = None) -> int:
    """Print what is proved; return 0, 1 where something is not, or 2 where the file is no certificate."""
    try:
        with open(file, "rb") as stream:
            proof, lines = certify(stream, rows_of_map(map_file) if map_file else None)
    except (OSError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        print(f"error: {file}: {error!r}", file=sys.stderr)
        return 2
    print("{robots} robots, {seconds:g} s, {robot_seconds:g} robot-seconds, {pieces} pieces".format(**proof))
    print("robots of {least:.4g} m and more, at most {fastest:.4g} m/s, on cells of {cell:.4g} m".format(**proof))
    print("\n".join(lines) or f"nothing overlapped by {DEPTH:g} m at any time, nothing jumped, all limits were kept")
    print("closest that was looked at: robots {gap:.4g} m, walls {clearance:.4g} m".format(**proof))
    is_proved = proof["robot_seconds"] > 0.0 and not lines
    print("certified" if is_proved else "failed: {violations} violations".format(**proof))
    return int(not is_proved)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Compiled loops do not look for Ctrl-C.
    sys.exit(main(*sys.argv[1:3]))
