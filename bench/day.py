"""Measure a day of 1,000 robots: python bench/day.py [--seconds S] [--robots N]

LSMART's headline hall (the layout of warehouse-10-20-10-2-1: 161 x 63 cells, 200 shelves of 10 x 2), random goals, a
plan by PIBT in each simulated second, figures and certificate included; then the certificate is read. Seconds of the
processor are scaled to a day. LSMART reports 10.7 hours for such a day on 16 cores.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from fleet_sim.base.kernels import compile_at_first_call
from fleet_sim.warehouse.traffic.certificate import certified
from fleet_sim.warehouse.traffic.runs import Work, step_to, warm_up
from fleet_sim.warehouse.traffic.settings import TrafficSettings
from fleet_sim.warehouse.traffic.workload import FleetSettings, make_fleet, read_workload

DAY = 86_400.0


def main() -> None:
    """Run a part of the day, and print what a whole one costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8640.0, help="simulated time (%(default)s, a tenth of a day)")
    parser.add_argument("--robots", type=int, default=1000)
    args = parser.parse_args()
    free = np.zeros((63, 161), bool)
    free[1:-1, 1:-1] = True
    for row in range(2, 62, 3):
        for column in range(26, 136, 11):
            free[row : row + 2, column : column + 10] = False
    with tempfile.TemporaryDirectory() as folder:
        hall, file = Path(folder) / "hall.map", Path(folder) / "run.bin"
        rows = "\n".join("".join(row) for row in np.where(free, ".", "@"))
        hall.write_text(f"type octile\nheight 63\nwidth 161\nmap\n{rows}\n", encoding="utf-8")
        workload = read_workload(str(hall), robots=args.robots, seed=0, radius=0.31)
        compile_at_first_call()
        warm_up()
        sim, traffic = make_fleet(workload.site, workload.starts, FleetSettings(), TrafficSettings(network="grid"), 0)
        with sim:
            work = Work(sim, traffic, workload.tasks, 0.0, 30.0)
            # Machine code of everything is loaded in the first steps.
            step_to(sim, 5.0, lambda: False, lambda: 0, None)
            with certified(sim, traffic, file):
                timing = step_to(sim, 5.0 + args.seconds, lambda: False, lambda: 0, None)
            figures = work.figures()
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [sys.executable, "-m", "fleet_sim.apps.certify", str(file), str(hall)]
        code = subprocess.run(command, check=False).returncode
        certify = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        wall, size = time.perf_counter() - begin, file.stat().st_size / 1e6
    tasks, collisions = figures["tasks_done"], figures["collisions"]
    print(f"{args.robots} robots, {args.seconds:g} s: {tasks:g} tasks, {collisions:g} collisions by our own checks")
    for name, cpu, clock in (("run", timing.cpu, timing.wall), ("certify", certify, wall)):
        day = cpu * DAY / args.seconds
        print(
            f"{name:<8} {cpu:8.1f} s of the processor, {clock:8.1f} s on the clock; a day: {day:6.0f} s (wanted: 180)"
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"certificate: {size:.0f} MB, {'proved' if code == 0 else 'NOT PROVED'}; memory of the run: {memory:.2f} GB")


if __name__ == "__main__":
    main()
