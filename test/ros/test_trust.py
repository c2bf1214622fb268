"""What arrives, and what interfaces make of it, stops neither the simulation nor the executor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hosted_node import hosted_node
from rclpy.executors import ExternalShutdownException

import fleet_sim as fs
from fleet_sim.core.faults import MAX_FAILURES, FaultGuard
from fleet_sim.ros.guarded import GuardedInterface
from fleet_sim.ros.interface import Interface
from fleet_sim.ros.interfaces import INTERFACES
from fleet_sim.ros.main import spin
from fleet_sim.ros.node import FleetSimNode
from fleet_sim.ros.population_services import read_options


class Broken(Interface):
    """Raises wherever it can."""

    published = 0

    def receive(self) -> None:
        self.bridge.gateway.take("broken", lambda: 1 / 0)  # type: ignore[arg-type,return-value]
        self.bridge.gateway.take("broken", lambda: fs.Stop(source="broken"))
        raise LookupError("received nonsense")

    def publish(self, now: int) -> None:
        Broken.published += 1
        raise RecursionError("too deep")


@pytest.fixture
def node() -> Iterator[FleetSimNode]:
    Broken.published = 0
    INTERFACES.register("broken", Broken)
    try:
        with hosted_node("-p", "robots:=1") as made:
            yield made
    finally:
        INTERFACES.unregister("broken")


def test_a_broken_interface_does_not_end_the_simulation(node: FleetSimNode) -> None:
    sim = node.simulation
    log = fs.record_commands(sim)
    for _ in range(3 * MAX_FAILURES):
        sim.step_once()
    assert sim.step_count == 3 * MAX_FAILURES
    assert Broken.published == MAX_FAILURES, "after so many in a row it publishes no more"
    assert node.simulation.guard.switched_off == {"ROS interface Broken (Broken.publish)": 1}
    assert len(log.entries) == 3 * MAX_FAILURES, "one message that fails costs no other, and nobody is cut off"
    assert sim.guard.total >= 4 * MAX_FAILURES


def test_faults_in_between_do_not_switch_an_interface_off() -> None:
    class Moody(Interface):
        def __init__(self) -> None:
            self.calls = 0

        def publish(self, now: int) -> None:
            self.calls += 1
            if self.calls % MAX_FAILURES:
                raise ValueError

    moody, guard = Moody(), FaultGuard()
    guarded = GuardedInterface(moody, guard)
    for _ in range(5 * MAX_FAILURES):
        guarded.publish(0)
    assert (moody.calls, guard.switched_off) == (5 * MAX_FAILURES, {})


def test_the_executor_goes_on_after_a_fault() -> None:
    class Executor:
        ends = iter([ValueError("255 is no type"), RecursionError(), None, AssertionError("spun once more")])

        def spin(self) -> None:
            error = next(self.ends)
            if error is not None:
                raise error

    told: list[str] = []
    spin(Executor(), told.append)  # type: ignore[arg-type]
    assert len(told) == 2
    assert "255 is no type" in told[0]


def test_the_executor_ends_with_ros() -> None:
    class Executor:
        def spin(self) -> None:
            raise ExternalShutdownException

    with pytest.raises(ExternalShutdownException):
        spin(Executor(), print)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["[" * 50_000, "{a: &a [*a]}", "x" * 200_000, "!!int abc", "[]"])
def test_options_of_a_spawn_are_bounded(text: str) -> None:
    with pytest.raises(fs.InvalidValueError, match="options") as caught:
        read_options(text)
    assert len(str(caught.value)) < 1000
