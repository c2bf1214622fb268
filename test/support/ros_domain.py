"""A ROS domain that no other test run on this machine uses at the same time."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

_DOMAINS = range(30, 50)
_OURS = "FLEET_SIM_TEST_DOMAIN"
"""Tells the processes that a worker starts that the domain is its own."""
_held: list[IO[str]] = []


def use_own_domain() -> None:
    """Set ROS_DOMAIN_ID to one that is held until this process ends; stay on this machine.

    One that the user has set stays where one process runs all tests; several would hear each other in it.
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    given, worker = os.environ.get("ROS_DOMAIN_ID"), os.environ.get("PYTEST_XDIST_WORKER", "")
    if _held or (given is not None and (not worker or os.environ.get(_OURS) == f"{given} {worker}")):
        return
    for domain in _DOMAINS:
        lock = _opened(Path(tempfile.gettempdir()) / f"fleet_sim_test_domain_{domain}")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _held.append(lock)
        os.environ["ROS_DOMAIN_ID"], os.environ[_OURS] = str(domain), f"{domain} {worker}"
        return
    raise RuntimeError(f"all ROS domains for tests ({_DOMAINS.start} to {_DOMAINS.stop - 1}) are in use")


def _opened(path: Path) -> IO[str]:
    """Open a file to lock, which may be another user's: then it can be read only, and that is enough for a lock."""
    try:
        return path.open("a")
    except PermissionError:
        return path.open()
