"""Executors that tests are run with: processes of this machine, and Ray where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from fleet_sim.parallel import Executor, JobLimits, LocalExecutor, RayExecutor

if TYPE_CHECKING:
    MakeExecutor = Callable[[JobLimits], Executor]


@pytest.fixture(
    scope="session",
    params=[
        "local",
        pytest.param(
            "ray", marks=[pytest.mark.slow, pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")]
        ),
    ],
)
def make_executor(request: pytest.FixtureRequest) -> Iterator[MakeExecutor]:
    """Makes an executor with two workers."""
    if request.param == "local":
        yield lambda limits: LocalExecutor(2, limits)
        return
    import ray

    # A cluster of its own, whatever else runs here; two, as workers of Ray wait for a processor of their own.
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield lambda limits: RayExecutor("auto", 2, limits)
    ray.shutdown()
