"""Jobs in many processes: on this machine, or on a cluster of Ray.

Each job runs alone in its process, with one thread.
"""

from fleet_sim.parallel.executor import Begin, Ended, Executor, Job, JobLimits, Perform, WorkCrew
from fleet_sim.parallel.local import LocalExecutor
from fleet_sim.parallel.ray_cluster import RayExecutor

__all__ = ["Begin", "WorkCrew", "Ended", "Executor", "Job", "JobLimits", "LocalExecutor", "Perform", "RayExecutor"]
