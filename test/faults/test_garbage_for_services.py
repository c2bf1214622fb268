"""Requests of the right type with absurd values, to all services of a node: each is answered, and the node goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hostile_messages import garbage
from node_program import Client, Running
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rosidl_runtime_py.utilities import get_service
from shape_msgs.msg import SolidPrimitive
from std_srvs.srv import Trigger

from fleet_sim_msgs.srv import List, Spawn

BOX = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.3, 0.3, 0.3])
REQUESTS = 600
"""In an ordinary test."""

OUTSTANDING = 40
"""Requests that wait for an answer at the same time."""

EVERY = 200
"""Requests between two resets, which bring back what was deleted."""

OURS = ("/sim/", "/fleet/", "/fleet_sim/")
"""Begin the names of the services of the node."""

ENDS = "/sim/set_simulation_state"
"""May end the node, if it is asked to."""


class Services:
    """A client of each service of the node."""

    def __init__(self, client: Client) -> None:
        self._client = client
        client.until(lambda: client.node.count_subscribers("/helper/path"), "the node")
        client.call(List, "/sim/list")
        services = dict(client.node.get_service_names_and_types())
        # Not those of robots, which go with them.
        self.names = sorted(name for name in services if name.startswith(OURS) and "/_action/" not in name)
        self._clients = {name: client.node.create_client(get_service(services[name][0]), name) for name in self.names}
        for name, one in self._clients.items():
            client.until(one.service_is_ready, name)

    def ask(self, name: str, random: Random) -> Any:
        """Send a request; return what will be answered."""
        one = self._clients[name]
        request = garbage(one.srv_type.Request, random)
        if name == ENDS:
            request.state.state = min(request.state.state, 2)
        return one.call_async(request)

    def flood(self, count: int, random: Random) -> int:
        """Ask `count` times, each service as often; return how many were answered. Raises TimeoutError."""
        waiting: dict[Any, str] = {}
        answered = 0
        for number in range(count):
            name = self.names[number % len(self.names)]
            waiting[self.ask(name, random)] = name
            while len(waiting) >= OUTSTANDING or (number == count - 1 and waiting):
                done = self._client.until(
                    lambda: [future for future in waiting if future.done()], str(waiting.values())
                )
                for future in done:
                    assert future.result() is not None
                    del waiting[future]
                answered += len(done)
        return answered


@pytest.mark.slow
def test_each_request_is_answered(fleet: Running, times: int, tried: Callable[[str, int], None]) -> None:
    node, client = fleet
    services, random = Services(client), Random(int(time.time()) if times > 1 else 1)
    answered, wanted = 0, REQUESTS * times
    while answered < wanted:
        answered += services.flood(min(EVERY, wanted - answered), random)
        # Some have paused it or slowed it down, which is their right.
        assert client.call(Trigger, "/sim/resume").success
        speed = Parameter("target_rtf", value=5.0).to_parameter_msg()
        request = SetParameters.Request(parameters=[speed])
        assert client.call(SetParameters, "/fleet_sim/set_parameters", request).results[0].successful
        assert client.call(Trigger, "/sim/reset").success
        # Others have unloaded the world, and with it the state that a reset goes back to.
        for name in ("cart", "pallet"):
            client.call(Spawn, "/sim/spawn", Spawn.Request(kind=name == "pallet", name=name, shape=BOX))
    assert answered == wanted
    assert client.figures_of_the_node()["faults"] == "0"
    assert {"cart", "pallet"} <= set(client.call(List, "/sim/list").names)
    assert node.end()[0] == 0
    assert not re.search(r"Traceback|\bfault\b", node.output())
    tried(f"requests to {len(services.names)} services", answered)
