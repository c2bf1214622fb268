"""Sweeps: one scenario with many seeds and values of its settings, and what was measured in one table.

`settings.py` and `plan.py` say which runs there are, `sweep.py` makes them in many processes, and `journal.py` keeps
what has ended, so that a sweep that was stopped can be resumed.
"""

from fleet_sim.sweeps.measures import MEASURES
from fleet_sim.sweeps.plan import SweepPlan, load_sweep
from fleet_sim.sweeps.statistics import RunGroup, Spread, groups_of
from fleet_sim.sweeps.sweep import SweepProgress, journal_of, limits_of, run_sweep
from fleet_sim.sweeps.table import SweepTable, read_table

__all__ = [
    "MEASURES",
    "RunGroup",
    "Spread",
    "SweepPlan",
    "SweepProgress",
    "SweepTable",
    "groups_of",
    "journal_of",
    "limits_of",
    "load_sweep",
    "read_table",
    "run_sweep",
]
