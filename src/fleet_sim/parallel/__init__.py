"""Jobs in many processes: on this machine, or on a cluster of Ray.

Each job runs alone in its process, with one thread.

`local.py` and `ray_cluster.py` have the same interface, which is in `executor.py`. A job that raises, takes too long or
too much memory ends with the reason and does not stop the others.
"""

from fleet_sim.parallel.executor import Begin, Ended, Executor, Job, JobLimits, Perform, WorkCrew
from fleet_sim.parallel.hosts import Host, local_hosts, ray_hosts
from fleet_sim.parallel.local import LocalExecutor
from fleet_sim.parallel.ray_cluster import RayExecutor

__all__ = [
    "Begin",
    "Ended",
    "Executor",
    "Host",
    "Job",
    "JobLimits",
    "LocalExecutor",
    "Perform",
    "RayExecutor",
    "WorkCrew",
    "local_hosts",
    "ray_hosts",
]
