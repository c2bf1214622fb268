"""Runs that compare planners: a workload driven for a while, or a plan executed, with figures at the end.

`workloads.py` lets robots go from task to task, `plans.py` drives one plan to its end. Both end with an `Outcome`,
whose figures reports read.
"""

from fleet_sim.traffic.runs.outcome import Outcome
from fleet_sim.traffic.runs.plans import drive_paths, plan_scenario
from fleet_sim.traffic.runs.settings import FleetSettings
from fleet_sim.traffic.runs.work import Work
from fleet_sim.traffic.runs.workloads import drive_workload

__all__ = ["FleetSettings", "Outcome", "Work", "drive_paths", "drive_workload", "plan_scenario"]
