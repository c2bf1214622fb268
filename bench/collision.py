"""Times of the collision code on moving robots: python bench/collision.py [--rounds N]

Cubes of 0.1 to 0.5 m, one per square metre, every other one moving; margin 0.02.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from fleet_sim.base.arrays import Floats, Ints
from fleet_sim.base.kernels import is_usable
from fleet_sim.base.spatial import quaternions
from fleet_sim.base.spatial.shapes import ShapeArrays, ShapeKind
from fleet_sim.sensing.collision.blocking import allowed_fractions
from fleet_sim.sensing.collision.bounds import world_aabbs
from fleet_sim.sensing.collision.broad import BroadPhase
from fleet_sim.sensing.collision.distances import contact_pairs
from fleet_sim.sensing.collision.system import PairSet

MARGIN = 0.02
STEP = 0.1


class Fleet:
    """Cubes on a square floor; half of them move back and forth."""

    def __init__(self, count: int, walls: int = 0) -> None:
        rng = np.random.default_rng(count)
        side = float(np.sqrt(count))
        positions = rng.uniform(0.0, side, (count + walls, 3)) * [1.0, 1.0, 0.0]
        half = np.repeat(rng.uniform(0.05, 0.25, (count + walls, 1)), 3, axis=1)
        half[count:] = [50.0, 0.1, 0.5]
        kinds = np.full(count + walls, ShapeKind.BOX, np.uint8)
        turns = quaternions.from_yaws(rng.uniform(-np.pi, np.pi, count + walls))
        turns[count:] = quaternions.IDENTITY
        self.shapes = ShapeArrays(kinds, positions, turns, half, np.zeros(count + walls))
        self.movers = np.arange(0, count, 2)
        self._velocities = rng.normal(0.0, 1.0, (len(self.movers), 3)) * [1.0, 1.0, 0.0]
        self._steps = 0

    def next_positions(self) -> Floats:
        """Return the next positions of the movers."""
        return np.asarray(self.shapes.positions[self.movers] + self._velocities * STEP)

    def step(self) -> None:
        """Move the movers; they reverse every twenty steps."""
        self.shapes.positions[self.movers] = self.next_positions()
        self._steps += 1
        if self._steps % 20 == 0:
            self._velocities = -self._velocities


def timed(fleet: Fleet, rounds: int, work: Callable[[], object]) -> str:
    work()
    times = []
    for _ in range(rounds):
        fleet.step()
        start = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - start))
    return f"{np.median(times):9.3f} {min(times):8.3f}"


def rows_of(count: int, walls: int, rounds: int) -> None:
    fleet, phase, current = Fleet(count, walls), BroadPhase(compiled=is_usable()), PairSet()
    shapes = fleet.shapes
    bounds = [*world_aabbs(*shapes, compiled=is_usable())]
    found = [phase.pairs(*bounds, margin=MARGIN)]

    def touching() -> Ints:
        # There are boxes alone, which need no solver.
        return contact_pairs(found[0], shapes, MARGIN, lambda pairs, margin: np.empty(0), compiled=is_usable())

    hits = [touching()]

    def update_bounds() -> None:
        moved = world_aabbs(*shapes.take(fleet.movers), compiled=is_usable())
        bounds[0][fleet.movers], bounds[1][fleet.movers] = moved

    def search() -> None:
        found[0] = phase.pairs(*bounds, margin=MARGIN)

    def narrow() -> None:
        hits[0] = touching()

    def everything() -> None:
        update_bounds()
        search()
        narrow()
        current.update(hits[0])

    def block() -> None:
        ends = fleet.next_positions()
        allowed_fractions(shapes, fleet.movers, ends, shapes.orientations[fleet.movers], compiled=is_usable())

    scene = f"{count} robots" + (f", {walls} walls" if walls else "")
    for name, work in (
        ("boxes of movers", update_bounds),
        ("broad phase", search),
        ("narrow phase", narrow),
        ("all, with events", everything),
        ("blocking", block),
    ):
        print(f"{scene:>24} {name:>18} {timed(fleet, rounds, work)} {len(found[0]):8d} {len(hits[0]):8d}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=40, help="steps per measurement (default 40)")
    rounds = parser.parse_args().rounds
    print(f"{'scene':>24} {'part':>18} {'median ms':>9} {'least ms':>8} {'pairs':>8} {'hits':>8}")
    for count, walls in ((100, 0), (1000, 0), (10_000, 0), (10_000, 10), (100_000, 0)):
        rows_of(count, walls, max(rounds * 1000 // max(count, 1000), 5))


if __name__ == "__main__":
    main()
