"""Lockstep: several nodes of fleet_sim step together, and one clock is published for all of them.

Nodes step on request only. The first period finds out how long the steps of each node are; from then on a period is one
request per node, sent to all of them before any answer is awaited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rclpy
from builtin_interfaces.msg import Time
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.ros import messages as qos
from fleet_sim.ros.services import MOST_STEPS
from fleet_sim_msgs.srv import Step

NANO = 1_000_000_000
SLACK = 1_000
"""By how much times may differ that are the same, in ns: each node rounds its own."""
AGAIN = 3.0
"""After so many s a question is asked again that changes nothing: DDS may drop the first ones."""


class Lockstep:
    """Steps the nodes below `namespaces` together, `period` s of simulated time at once, and publishes `/clock`.

    After `advance` all nodes have made their steps up to the same time, and wait. Their time steps may differ, if all
    of them divide `period`. Nothing else may step, resume or reset them meanwhile: it is noticed, and refused. Nodes
    are started with the parameter `paused: true`, so that all of them begin at the same time.

    Raises InvalidValueError for wrong arguments; StateError where a node does not answer within `patience` s, refuses,
    or has another time than the others. After a StateError of `advance` they may have different times.
    """

    def __init__(
        self, namespaces: Sequence[str], period: float, *, patience: float = 60.0, context: Context | None = None
    ) -> None:
        self._names = [f"/{name.strip('/')}".rstrip("/") for name in namespaces]
        if not self._names or len(set(self._names)) < len(self._names):
            raise InvalidValueError(f"namespaces: expected one or more, all different, got {list(namespaces)}")
        if not 1e-6 <= period <= 3600.0:
            raise InvalidValueError(f"period: expected 1e-6 to 3600 s, got {period}")
        if not patience > 0.0:
            raise InvalidValueError(f"patience: expected a time above 0 s, got {patience}")
        self._period, self._patience = round(period * NANO), patience
        self._steps: Mapping[str, int] = {}
        # Without one of the caller's it is a program of its own, which begins and ends ROS.
        self._own = Context() if context is None else None
        if self._own is not None:
            context = self._own
            rclpy.init(context=context)
        self._node = Node("fleet_sim_lockstep", context=context)
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self._node)
        self._clock = self._node.create_publisher(Clock, "/clock", qos.CLOCK)
        self._pausers = {name: self._node.create_client(Trigger, f"{name}/sim/pause") for name in self._names}
        self._steppers = {name: self._node.create_client(Step, f"{name}/sim/step") for name in self._names}
        self.time = 0
        """Simulated time of all nodes, in ns."""

    def begin(self) -> None:
        """Wait for all nodes and pause them; they must have the same time."""
        clients = {**{f"{name}/sim/pause": client for name, client in self._pausers.items()}}
        clients |= {f"{name}/sim/step": client for name, client in self._steppers.items()}
        self._wait(lambda: [name for name, client in clients.items() if not client.service_is_ready()])
        # Pausing twice changes nothing, so the question may be repeated.
        self._ask(self._pausers, dict.fromkeys(self._names, Trigger.Request()), again=True)
        # No steps: it is refused, and the answer has the time.
        answers = self._ask(self._steppers, dict.fromkeys(self._names, Step.Request(steps=0)), again=True)
        self._take({name: nanoseconds(answer.stamp) for name, answer in answers.items()})

    def advance(self) -> float:
        """Let all nodes make their steps of a period; publish the time and return it, in s."""
        target = self.time + self._period
        if not self._steps:
            self._steps = self._count_steps()
        else:
            self._step(self._steps, target)
        self._clock.publish(Clock(clock=Time(sec=self.time // NANO, nanosec=self.time % NANO)))
        return self.time / NANO

    def _count_steps(self) -> Mapping[str, int]:
        """Make the first period, of which one step tells how long the steps of each node are."""
        before, target = self.time, self.time + self._period
        # Never repeated: the second one would be another step.
        answers = self._ask(self._steppers, dict.fromkeys(self._names, Step.Request(steps=1)), again=False)
        counts = {}
        for name, answer in self._accepted(answers).items():
            length = nanoseconds(answer.stamp) - before
            counts[name] = count = round(self._period / length) if length > 0 else 0
            # The stamp is rounded to ns, so many of them may differ by as many ns.
            if not 1 <= count <= MOST_STEPS or abs(count * length - self._period) > max(SLACK, count):
                said = f"{length / NANO:g} s" if length > 0 else "without a length"
                raise StateError(f"{name or '/'}: its steps are {said}, which do not divide {self._period / NANO:g} s")
        self._step({name: count - 1 for name, count in counts.items()}, target)
        return counts

    def _step(self, counts: Mapping[str, int], target: int) -> None:
        """Make so many steps in each node, all at the same time; all must have the time `target` then."""
        # Nodes without steps left are where they should be already.
        requests = {name: Step.Request(steps=count) for name, count in counts.items() if count}
        answers = self._accepted(self._ask(self._steppers, requests, again=False))
        stamps = {name: nanoseconds(answer.stamp) for name, answer in answers.items()}
        self._take({name: stamps.get(name, target) for name in self._names}, target)

    def _take(self, stamps: Mapping[str, int], target: int | None = None) -> None:
        """Take over the time of all nodes; raises StateError where they differ."""
        wanted = target if target is not None else max(stamps.values())
        if any(abs(stamp - wanted) > SLACK for stamp in stamps.values()):
            said = ", ".join(f"{name or '/'} has {stamp / NANO:g} s" for name, stamp in stamps.items())
            hint = (
                "start them with paused:=true" if target is None else f"expected {wanted / NANO:g} s; who steps them?"
            )
            raise StateError(f"the nodes have different times: {said}; {hint}")
        self.time = wanted

    def _accepted(self, answers: Mapping[str, Any]) -> Mapping[str, Any]:
        for name, answer in answers.items():
            if not answer.success:
                raise StateError(f"{name or '/'}: refused a step: {answer.message}")
        return answers

    def _ask(self, clients: Mapping[str, Any], requests: Mapping[str, Any], *, again: bool) -> dict[str, Any]:
        """Send all requests, then wait for all answers; those that change nothing may be sent `again`."""
        # All are asked before any answer is awaited: the nodes step at the same time.
        sent = {name: [clients[name].call_async(request)] for name, request in requests.items()}
        next_time = time.monotonic() + AGAIN

        def missing() -> list[str]:
            nonlocal next_time
            silent = [name for name, futures in sent.items() if not any(future.done() for future in futures)]
            if silent and again and time.monotonic() > next_time:
                next_time = time.monotonic() + AGAIN
                for name in silent:
                    sent[name].append(clients[name].call_async(requests[name]))
            return [name or "/" for name in silent]

        self._wait(missing)
        return {name: next(f for f in futures if f.done()).result() for name, futures in sent.items()}

    def _wait(self, missing: Callable[[], list[str]]) -> None:
        deadline = time.monotonic() + self._patience
        while silent := missing():
            if time.monotonic() > deadline:
                raise StateError(f"no answer of {', '.join(silent)} within {self._patience:g} s")
            self._executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        """Leave ROS; the nodes stay paused."""
        self._executor.shutdown()
        self._node.destroy_node()
        if self._own is not None:
            rclpy.shutdown(context=self._own)


def nanoseconds(stamp: Time) -> int:
    """Return a time in ns."""
    return int(stamp.sec) * NANO + int(stamp.nanosec)
