"""Measure the step from 100 robots to a million, beside pybullet-fleet as far as it goes, and draw it.

Both simulators take turns, each in a process of its own, and processor time is measured, so that other work on the
machine counts little. The line of the memory is the time to read once, at the measured rate, all columns of the
robots: a step that looked at everything could not be faster.

Run: python bench/scaling.py [--peer .venv-peer/bin/python] [--rounds 3] [--picture docs/images/scaling.png]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import ours
from results import Failure, Results
from workload import Case

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
PEER_LIMIT = 10_000
"""Its spawn alone takes 16 s for 20,000."""
SHARES = (1_000, 10_000, 100_000)
STREAM = 1 << 25
"""Numbers in the array that is read to measure the memory: 256 MB."""


def case_of(robots: int) -> Case:
    """Return the case of the budgets for so many robots."""
    return Case(robots, 200 if robots <= 10_000 else 20 if robots <= 100_000 else 8, clock="cpu")


def peer_case_of(robots: int) -> Case:
    """Return the same for the peer, which takes hundreds of times as long."""
    return Case(robots, 60 if robots < PEER_LIMIT else 20, clock="cpu")


def memory_rate() -> float:
    """Return the bytes per second at which one core reads memory."""
    numbers = np.ones(STREAM)
    taken = []
    for _ in range(7):
        begin = time.process_time()
        numbers.sum()
        taken.append(time.process_time() - begin)
    return numbers.nbytes / min(taken)


def bytes_per_robot() -> float:
    """Return the size of all columns per row."""
    sim = ours.build(Case(1, 1))
    size = sum(table.nbytes for table in sim.world.tables.values()) / sim.world.capacity
    sim.close()
    return float(size)


def measure(results: Results, peer: str | None, rounds: int) -> None:
    """Run every size `rounds` times, in turns."""
    for robots in SIZES:
        for _ in range(rounds if robots <= 100_000 else 1):
            results.measure("ours", sys.executable, case_of(robots))
            if peer is not None and robots <= PEER_LIMIT:
                results.measure("peer", peer, peer_case_of(robots))
        print(line(results, robots), flush=True)


def line(results: Results, robots: int) -> str:
    """Return the row of a size."""
    ours_ms = results.value("ours", case_of(robots), "step_ms") or 0.0
    peer_ms = results.value("peer", peer_case_of(robots), "step_ms")
    memory = results.value("ours", case_of(robots), "kb_after_run") or 0.0
    ratio = f"{peer_ms:10.2f} {peer_ms / ours_ms:7.0f}x" if peer_ms else f"{'-':>10} {'-':>8}"
    return f"{robots:9} {ours_ms:10.3f} {1e6 * ours_ms / robots:9.0f} {memory:8.2f} {ratio}"


def draw(results: Results, rate: float, size: float, picture: Path) -> None:
    """Draw the steps of both over the number of robots, with the line of the memory."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5))
    for program, name, case, mark in (
        ("ours", "fleet_sim", case_of, "o-"),
        ("peer", "pybullet-fleet", peer_case_of, "s-"),
    ):
        steps = {robots: results.value(program, case(robots), "step_ms") for robots in SIZES}
        known = {robots: step for robots, step in steps.items() if step is not None}
        if known:
            axes.loglog(list(known), list(known.values()), mark, label=name)
    axes.loglog(SIZES, [1e3 * size * robots / rate for robots in SIZES], ":", label=f"memory, {rate / 1e9:.0f} GB/s")
    axes.axhline(100.0, color="grey", linewidth=0.8, label="real time at 0.1 s")
    axes.set_xlabel("robots")
    axes.set_ylabel("step in ms (processor time)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def main() -> int:
    """Measure, print and draw; return 0, or 1 if a measurement failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", metavar="PYTHON", help="interpreter with pybullet-fleet; without it: fleet_sim alone")
    parser.add_argument("--rounds", type=int, default=3, help="number of measurements per size (default 3)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the steps to this file")
    args = parser.parse_args()
    results, rate, size = Results(), memory_rate(), bytes_per_robot()
    print(f"{'robots':>9} {'step ms':>10} {'ns/robot':>9} {'kB/robot':>8} {'peer ms':>10} {'ratio':>8}")
    try:
        measure(results, args.peer, args.rounds)
    except Failure as error:
        print(error, file=sys.stderr)
        return 1
    print(f"memory: {rate / 1e9:.1f} GB/s; the columns of a robot: {size:.0f} bytes")
    print(f"\n{'system, ms (wall)':20}" + "".join(f"{robots:>12}" for robots in SHARES))
    shares = [results.systems(case_of(robots)) for robots in SHARES]
    for name in shares[0]:
        if max(part[name] for part in shares) > 0.0:
            print(f"{name:20}" + "".join(f"{part[name]:12.4f}" for part in shares))
    print(f"\nthe processes were given {median(results.core_shares()):.0%} of a core")
    if args.picture is not None:
        draw(results, rate, size, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
