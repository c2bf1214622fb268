"""Figures of a run: gathered while it runs, written to a file, read again for reports.

`collector.py` gathers, `summary.py` makes figures of it, and `run_file.py` writes and reads them.
"""

from fleet_sim.traffic.figures.collector import STATES, FigureCollector, Role, StateKind
from fleet_sim.traffic.figures.run_file import Run, RunHeat, RunSource, read_run, run_of, write_run

__all__ = [
    "STATES",
    "FigureCollector",
    "Role",
    "Run",
    "RunHeat",
    "RunSource",
    "StateKind",
    "read_run",
    "run_of",
    "write_run",
]
