"""Certificates: how robots of the traffic moved, in exact pieces, for `fleet-sim certify` (`apps/cli/certify.py`).

Within a step robots speed up evenly, or come to rest by a way that their limits allow. So a piece is a parabola, and
lasts as long as the robot goes on along it: most last for many steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from fleet_sim.base.arrays import NO_ROWS, Floats, Ints, Rows
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.files import writing
from fleet_sim.base.kernels import compiled_step, inlined
from fleet_sim.simulation import MultiRobotSimulationCore
from fleet_sim.warehouse.traffic.columns import limits_of
from fleet_sim.warehouse.traffic.dependency_graph import wrapped
from fleet_sim.warehouse.traffic.driving import Trace, places_in
from fleet_sim.warehouse.traffic.figures import outlines_of
from fleet_sim.warehouse.traffic.traffic import Traffic

FORMAT = "fleet_sim certificate 1"
WIDTH = 11
"""Numbers of a piece: robot, time, place, velocity, acceleration, yaw, and its two derivatives."""
SAME = 1e-9
"""A robot goes on along its piece as long as it is within this in m, m/s, rad and rad/s."""
BLOCK = 2.0
"""Simulated time of a block in s."""


@inlined
def _stop(speed: float, way: float, dt: float) -> tuple[float, float, float]:
    """Return (acceleration, for how long, acceleration after it) of what stops after `way` within `dt`.

    It goes on faster at first and brakes as hard, or brakes at once and then stands.
    """
    offset = way - 0.5 * speed * dt
    if offset < 0.0:
        return -0.5 * speed * speed / way, 2.0 * way / speed, 0.0
    accel = (2.0 * offset + np.sqrt(4.0 * offset * offset + dt * dt * speed * speed)) / (dt * dt)
    return accel, 0.5 * (dt - speed / accel), -accel


@compiled_step
def note_pieces(
    rows: Rows,
    numbers: Ints,
    begins: Floats,
    dt: float,
    here: Floats,
    velocity: Floats,
    yaw: Floats,
    spin: Floats,
    last: Floats,
    pieces: Floats,
    out: Floats,
    count: int,
) -> int:
    """Write the pieces that began in ticks to `out`, after `count` that are there; return how many now.

    The ticks `begins` (T,) last `dt` s; at their ends `rows` (K,) were `here` (T, K, 2) and moved like that. By row:
    `last` (R, 6) is where robots were at the begin of the step, and becomes where they are: x, y, velocity, yaw, spin.
    `pieces` (R, 11) are what they are on.
    """
    for place in range(len(rows)):
        row = rows[place]
        for tick in range(len(begins)):
            start = begins[tick]
            end = start + dt - pieces[row, 1]
            here_x, here_y = here[tick, place, 0], here[tick, place, 1]
            at_x, at_y = velocity[tick, place, 0], velocity[tick, place, 1]
            looks, spins = yaw[tick, place], spin[tick, place]
            off = 0.0
            for axis, there, fast in ((0, here_x, at_x), (1, here_y, at_y)):
                p, v, a = pieces[row, 2 + axis], pieces[row, 4 + axis], pieces[row, 6 + axis]
                off = max(off, abs(p + (v + 0.5 * a * end) * end - there), abs(v + a * end - fast))
            turned = pieces[row, 8] + (pieces[row, 9] + 0.5 * pieces[row, 10] * end) * end
            off = max(off, abs(wrapped(turned - looks)), abs(pieces[row, 9] + pieces[row, 10] * end - spins))
            # One that has just come is on no piece.
            if np.isnan(end) or off > SAME:
                x, y, vx, vy = last[row, 0], last[row, 1], last[row, 2], last[row, 3]
                dx, dy, turn = here_x - x, here_y - y, wrapped(looks - last[row, 4])
                rate = last[row, 5]
                short = abs(dx - 0.5 * dt * (vx + at_x)) + abs(dy - 0.5 * dt * (vy + at_y))
                pieces[row, 0], pieces[row, 1] = numbers[row], start
                pieces[row, 2], pieces[row, 3], pieces[row, 4], pieces[row, 5] = x, y, vx, vy
                pieces[row, 6], pieces[row, 7] = (at_x - vx) / dt, (at_y - vy) / dt
                pieces[row, 8], pieces[row, 9], pieces[row, 10] = last[row, 4], rate, (spins - rate) / dt
                way, amount, later, first = np.sqrt(dx * dx + dy * dy), 0.0, 0.0, 0.0
                if short > SAME and at_x == 0.0 and at_y == 0.0 and way > 0.0:
                    first, amount, later = _stop(np.sqrt(vx * vx + vy * vy), way, dt)
                    pieces[row, 6], pieces[row, 7] = first * dx / way, first * dy / way
                elif abs(turn - 0.5 * dt * (rate + spins)) > SAME and spins == 0.0 and turn != 0.0:
                    first, amount, later = _stop(abs(rate), abs(turn), dt)
                    pieces[row, 10] = first if turn > 0.0 else -first
                for column in range(WIDTH):
                    out[count, column] = pieces[row, column]
                count += 1
                if amount > 0.0:
                    # From here it brakes as hard as it sped up, or stands.
                    back = 0.0 if later == 0.0 else -1.0
                    pieces[row, 1] = start + amount
                    for column in (2, 3, 8):
                        gone = 2 if column < 8 else 1
                        v, a = pieces[row, column + gone], pieces[row, column + 2 * gone]
                        pieces[row, column] += (v + 0.5 * a * amount) * amount
                        pieces[row, column + gone] = (v + a * amount) if later != 0.0 else 0.0
                        pieces[row, column + 2 * gone] = back * a
                    if later == 0.0:
                        pieces[row, 2], pieces[row, 3], pieces[row, 8] = here_x, here_y, looks
                    for column in range(WIDTH):
                        out[count, column] = pieces[row, column]
                    count += 1
            last[row, 0], last[row, 1], last[row, 2] = here_x, here_y, at_x
            last[row, 3], last[row, 4], last[row, 5] = at_y, looks, spins
    return count


class _Certificate:
    """Writes the pieces of the robots in `traffic` from now on to `stream`."""

    def __init__(self, sim: MultiRobotSimulationCore, traffic: Traffic, stream: IO[bytes]) -> None:
        self._sim, self._traffic, self._stream = sim, traffic, stream
        self._time, self._due, self._version = sim.sim_time, sim.sim_time + BLOCK, -1
        self._rows, self._count, self._known = NO_ROWS, 0, 0
        self._ids: dict[int, int] = {}
        self._joined: list[dict[str, object]] = []
        self._numbers = np.zeros(0, np.int64)
        self._last, self._pieces, self._out = np.zeros((0, 6)), np.zeros((0, WIDTH)), np.zeros((0, WIDTH))
        grid = traffic.site.grid
        rows = ["".join(row) for row in np.where(grid.free_mask, ".", "@").tolist()]
        self._line(format=FORMAT, begin=self._time, cell=grid.cell, origin=[*map(float, grid.origin)], rows=rows)
        self._look(0.0)

    def _line(self, **said: object) -> None:
        self._stream.write(json.dumps(said).encode() + b"\n")

    def _look(self, dt: float, trace: Trace | None = None) -> None:
        """Look who came and who left before the first tick of `trace`, of `dt` s; None: nobody has moved."""
        world, table, rows = self._sim.world, self._traffic.table, self._traffic.rows
        if len(self._numbers) < world.capacity:
            more = world.capacity - len(self._numbers)
            self._numbers = np.concatenate((self._numbers, np.zeros(more, np.int64)))
            self._last = np.vstack((self._last, np.zeros((more, 6))))
            self._pieces = np.vstack((self._pieces, np.zeros((more, WIDTH))))
        ids = world.object_id[rows]
        present = dict(zip(ids.tolist(), rows.tolist(), strict=True))
        self._room(len(self._ids))
        for thing in [thing for thing in self._ids if thing not in present]:
            number = self._ids.pop(thing)
            self._out[self._count] = (number, self._time, *np.full(WIDTH - 2, np.nan))
            self._count += 1
        outlines = outlines_of(world, rows, table.radius[rows])
        for place, (thing, row) in enumerate(present.items()):
            # Who came while the others were seen to arrive has not moved yet, and is looked at after the next step.
            if thing in self._ids or (trace is not None and row not in trace.rows):
                continue
            self._ids[thing] = self._numbers[row] = self._known
            self._known += 1
            turns = bool(table.turns[row])
            limits = zip(("speed", "accel", "spin", "spin_accel"), limits_of(world, row, turns), strict=True)
            hx, hy = outlines.halves[place].tolist()
            body = {"name": world.label(row), "hx": hx, "hy": hy, "rim": float(outlines.rims[place]), "turns": turns}
            # JSON has no infinity.
            self._joined.append({**body, **{key: float(min(value, 1e300)) for key, value in limits}})
            at, velocity, moves = world.position[row, :2], world.velocity[row, :2], 1.0
            yaw, spin = table.yaw[row], table.spin[row]
            if trace is not None:
                # Who takes part since then stood, and has sped up evenly.
                (one,), moves = np.flatnonzero(trace.rows == row), 0.0
                at, velocity, _, yaw, spin = (part[0, one] for part in trace[1:])
            self._last[row, :2], self._last[row, 2:4] = at - 0.5 * dt * velocity, moves * velocity
            self._last[row, 4:] = yaw - 0.5 * dt * spin, moves * spin
            self._pieces[row] = np.nan
        self._rows = rows[np.isin(world.object_id[rows], list(self._ids))]
        self._version = world.version if len(self._rows) == len(rows) else -1

    def _room(self, count: int) -> None:
        if self._count + count > len(self._out):
            more = np.zeros((2 * (self._count + count), WIDTH))
            more[: self._count] = self._out[: self._count]
            self._out = more

    def step(self, dt: float, trace: Trace) -> None:
        """Note how robots moved in the ticks of a step, at its end."""
        world, clock = self._sim.world, self._sim.clock
        ends = clock.tick + 1
        times = [clock.seconds(tick) for tick in range(ends - len(trace.speeds), ends + 1)]
        if times[0] != self._time:
            raise StateError(
                f"a certificate is of one stretch of time: at {self._time:g} s the simulation was reset, or a state"
                " restored; begin another certificate after that"
            )
        if self._version != world.version:
            self._look(dt, trace)
        places = places_in(trace, self._rows)
        rows = self._rows
        if not isinstance(places, slice):
            rows, places = rows[places >= 0], places[places >= 0]
        here, velocities, _, yaws, spins = (part[:, places] for part in trace[1:])
        begin = 0
        while begin < len(times) - 1:
            # Blocks end with the tick in which they are long enough, however many ticks a step has.
            end = next((tick for tick in range(begin + 1, len(times)) if times[tick] >= self._due), len(times) - 1)
            self._room(2 * len(rows) * (end - begin))
            ticks = slice(begin, end)
            parts = here[ticks], velocities[ticks], yaws[ticks], spins[ticks]
            known = self._last, self._pieces, self._out, self._count
            self._count = note_pieces(rows, self._numbers, np.array(times[ticks]), dt, *parts, *known)
            # The clock moves on when all have looked.
            self._time, begin = times[end], end
            if self._time >= self._due:
                self.flush()

    def flush(self) -> None:
        """Write the block so far."""
        self._line(until=self._time, pieces=self._count, robots=self._joined)
        pieces = self._out[: self._count]
        # Robot by robot, whether ticks were looked at one by one or not.
        order = np.argsort(pieces[:, 0], kind="stable")
        self._stream.write(pieces[order].astype("<f8", copy=False).data)
        self._joined, self._count, self._due = [], 0, self._time + BLOCK


@contextmanager
def certified(sim: MultiRobotSimulationCore, traffic: Traffic | None, path: str | Path | None) -> Iterator[None]:
    """Inside, write a certificate of how robots of `traffic` move to `path`; None: write none.

    Raises InvalidValueError where there is no traffic, and for that of a building.
    """
    if path is None:
        yield
        return
    if traffic is None:
        raise InvalidValueError("a certificate is of robots in a traffic; give the scenario a section 'traffic'")
    if traffic.storeys.several:
        raise InvalidValueError("a certificate is of one floor, and this traffic is in a building with several")
    with writing(path, "wb") as stream:
        made = _Certificate(sim, traffic, stream)
        traffic.watchers.append(made.step)
        try:
            yield
        finally:
            traffic.watchers.remove(made.step)
            made.flush()
