"""A ROS domain that no other test run on this machine uses at the same time."""

from __future__ import annotations

import os
import socket

_DOMAINS = range(30, 50)
_PORT = 28400
"""Whoever holds this port and the number of a domain more holds the domain: files would lie in folders of temporary
files, of which several test runs may each have their own."""
_OURS = "FLEET_SIM_TEST_DOMAIN"
"""Tells the processes that a worker starts that the domain is its own."""
_held: list[socket.socket] = []


def use_own_domain() -> None:
    """Set ROS_DOMAIN_ID to one that is held until this process ends; stay on this machine.

    One that the user has set stays where one process runs all tests; several would hear each other in it.
    """
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    given, worker = os.environ.get("ROS_DOMAIN_ID"), os.environ.get("PYTEST_XDIST_WORKER", "")
    if _held or (given is not None and (not worker or os.environ.get(_OURS) == f"{given} {worker}")):
        return
    for domain in _DOMAINS:
        holder = socket.socket()
        try:
            holder.bind(("127.0.0.1", _PORT + domain))
        except OSError:
            holder.close()
            continue
        _held.append(holder)
        os.environ["ROS_DOMAIN_ID"], os.environ[_OURS] = str(domain), f"{domain} {worker}"
        return
    raise RuntimeError(f"all ROS domains for tests ({_DOMAINS.start} to {_DOMAINS.stop - 1}) are in use")
