"""Measure what runs in many processes cost: `python bench/scale.py [--runs 1000]`.

The same runs of one second, first one after the other in one process, then as a sweep: how much longer the sweep takes
than the runs themselves on as many processors, how long until its first run has ended, and what memory the sweep's own
process has after each thousand. `--halo` measures instead what two processes that share a world would have to exchange.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import tempfile
import time
from multiprocessing.connection import Connection
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from fleet_sim.apps.sweeps import SweepProgress, load_sweep, run_sweep
from fleet_sim.apps.sweeps.sweep import SweepRuns
from fleet_sim.base.parallel import LocalExecutor

ROBOT = 13 * 8
"""Bytes of a robot beyond a border: position, orientation, velocities."""


def scenario(robots: int) -> dict[str, object]:
    """A hall in which half of the robots drive."""
    shape = {"shape_type": "cylinder", "radius": 0.3, "height": 0.3}
    grid = {"count": robots, "columns": 10, "spacing": [1.0, 1.0, 0.0]}
    return {
        "simulation": {"timestep": 0.01, "gui": False, "monitor": False},
        "robots": [{"name": "amr", "shape": shape, "grid": grid, "controller": {"type": "random_walk"}}],
    }


def measure(runs: int, robots: int, processes: int) -> None:
    """Print what a sweep of `runs` runs costs beside the runs themselves."""
    plan = load_sweep({"scenario": scenario(robots), "duration": 1.0, "seeds": f"0-{runs - 1}"})
    job = SweepRuns(plan)()
    alone = min(runs, 50)
    # The first one loads modules.
    job(0)
    begin = time.process_time()
    for number in range(alone):
        job(number)
    each = (time.process_time() - begin) / alone
    executor = LocalExecutor(processes)
    first: list[float] = []
    memory: list[float] = []

    def note(progress: SweepProgress) -> None:
        if not first:
            first.append(progress.seconds)
        if progress.new % 1000 == 0:
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        journal = run_sweep(plan, Path(folder) / "t.csv", executor, report=note)
        took = time.perf_counter() - begin
    print(f"{runs} runs in {processes} processes: {took:.2f} s; first run after {first[0]:.2f} s")
    print(
        f"a run alone: {1e3 * each:.2f} ms of processor; in a sweep: {1e3 * journal.seconds / runs:.2f} ms of real time"
    )
    busy = journal.seconds / processes
    print(f"time beyond that of the runs: {100 * (took - first[0] - busy) / busy:.1f} % without the start")
    if memory:
        print(
            f"memory of the driver: {memory[0]:.0f} MB after 1,000 runs, {memory[-1]:.0f} MB after {1000 * len(memory)}"
        )


def halo(robots: int, rounds: int) -> None:
    """Print what it costs two processes to exchange the robots near a common border in each step."""
    size = robots * ROBOT
    own, other = SharedMemory(create=True, size=size), SharedMemory(create=True, size=size)
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_other, args=(theirs, own.name, other.name, size, rounds)
    )
    process.start()
    ours.recv()
    rows = np.arange(robots) * 2
    columns = np.random.default_rng(0).random((2 * robots, 13))
    shared, read = np.ndarray((robots, 13), buffer=own.buf), np.ndarray((robots, 13), buffer=other.buf)
    begin = time.perf_counter()
    for _ in range(rounds):
        np.take(columns, rows, axis=0, out=shared)
        ours.send_bytes(b"x")
        ours.recv_bytes()
        columns[rows] = read
    each = (time.perf_counter() - begin) / rounds
    process.join()
    print(f"{robots} robots at a border, {size / 1024:.0f} kB each way: {1e6 * each:.0f} us a step")
    del shared, read
    for memory in (own, other):
        memory.close()
        memory.unlink()


def _other(pipe: Connection, theirs: str, ours: str, size: int, rounds: int) -> None:
    read, write = SharedMemory(theirs), SharedMemory(ours)
    columns, source = (
        np.ndarray((size // ROBOT, 13), buffer=write.buf),
        np.ndarray((size // ROBOT, 13), buffer=read.buf),
    )
    pipe.send("ready")
    for _ in range(rounds):
        pipe.recv_bytes()
        columns[:] = source
        pipe.send_bytes(b"x")
    del columns, source
    read.close()
    write.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--halo", action="store_true", help="measure the exchange at a border instead")
    args = parser.parse_args()
    if not args.halo:
        measure(args.runs, args.robots, args.processes)
        return
    for robots in (100, 1000, 10_000):
        halo(robots, 2000)


if __name__ == "__main__":
    main()
