"""Executors that tests are run with: processes of this machine, and Ray where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
import ray_cluster

from fleet_sim.base.parallel import Executor, JobLimits, LocalExecutor, RayExecutor

if TYPE_CHECKING:
    MakeExecutor = Callable[[JobLimits], Executor]


@pytest.fixture(scope="session", params=["local", pytest.param("ray", marks=ray_cluster.MARKS)])
def make_executor(request: pytest.FixtureRequest) -> Iterator[MakeExecutor]:
    """Makes an executor with two workers."""
    if request.param == "local":
        yield lambda limits: LocalExecutor(2, limits)
        return
    with ray_cluster.local_ray() as address:
        yield lambda limits: RayExecutor(address, 2, limits)
