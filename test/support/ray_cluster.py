"""Ray in tests: a cluster of two processors on this machine, where Ray is installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
MARKS = (pytest.mark.slow, NEEDS_RAY)
"""Of tests that begin a cluster."""


@contextmanager
def local_ray() -> Iterator[str]:
    """Begin a cluster, yield its address and end it."""
    import ray

    # Whatever a test before in this process was connected to.
    ray.shutdown()
    # A cluster of its own, whatever else runs here; two, as workers of Ray wait for a processor of their own.
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield "auto"
    ray.shutdown()
