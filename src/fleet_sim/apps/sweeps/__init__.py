"""Sweeps: one scenario with many seeds and values of its settings, and what was measured in one table.

`settings.py` says which runs there are, and `sweep.py` makes them in many processes and keeps what has ended, so that a
sweep that was stopped can be resumed.
"""

from fleet_sim.apps.sweeps.settings import MEASURES, SweepPlan, load_sweep
from fleet_sim.apps.sweeps.sweep import (
    Difference,
    RunGroup,
    Spread,
    SweepProgress,
    SweepTable,
    differences_of,
    groups_of,
    journal_of,
    limits_of,
    read_table,
    run_sweep,
)

__all__ = [
    "MEASURES",
    "Difference",
    "RunGroup",
    "Spread",
    "SweepPlan",
    "SweepProgress",
    "SweepTable",
    "differences_of",
    "groups_of",
    "journal_of",
    "limits_of",
    "load_sweep",
    "read_table",
    "run_sweep",
]
