"""What holds a step is named while it does, and counted afterwards."""

from __future__ import annotations

import time
from threading import Event, Thread

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hosted_node import hosted_node
from rclpy.executors import SingleThreadedExecutor

from fleet_sim.ros.monitoring import SIMULATION_THREAD
from fleet_sim.world.pipeline import SLOW_STEP, Phase, System

looked_at = Event()
PATIENCE = 60.0


def hold_for_long(dt: float) -> None:
    """Hold the step until it has been named."""
    looked_at.wait(PATIENCE)


def test_what_holds_a_step_is_named_while_it_does() -> None:
    with hosted_node("-p", "robots:=1") as node:
        sim, seen = node.simulation, []
        node.create_subscription(DiagnosticArray, "/diagnostics", lambda message: seen.extend(message.status), 10)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        sim.step_once()
        sim.pipeline.slow_steps.clear()
        assert sim.pipeline.running is None
        sim.pipeline.add(System("slow_part", Phase.OBSERVE, hold_for_long))
        step = Thread(target=sim.step_once, name=SIMULATION_THREAD)
        step.start()
        held, end = [], time.monotonic() + PATIENCE
        while not held and time.monotonic() < end:
            executor.spin_once(0.05)
            held = [status for status in seen if "a step has taken" in status.message]
        looked_at.set()
        while step.is_alive():
            executor.spin_once(0.05)
        sim.pipeline.remove("slow_part")
        assert held
        assert held[0].level == DiagnosticStatus.WARN
        assert "in slow_part (observe)" in held[0].message
        assert "hold_for_long (test_held_steps.py:" in held[0].message, "and where in it"
        assert sim.pipeline.slow_steps == {"slow_part": 1}
        assert sim.pipeline.longest_step > SLOW_STEP
        count = len(seen)
        sim.step_once()
        for _ in range(20):
            executor.spin_once(0.05)
        assert not any("a step has taken" in status.message for status in seen[count:]), "others are not named"
        executor.shutdown()
