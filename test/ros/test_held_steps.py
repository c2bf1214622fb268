"""What holds a step is named while it does, and counted afterwards."""

from __future__ import annotations

import time
from threading import Thread

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from hosted_node import hosted_node
from rclpy.executors import SingleThreadedExecutor

from fleet_sim.ros.monitoring import SIMULATION_THREAD
from fleet_sim.world.pipeline import SLOW_STEP, Phase, System

HELD = SLOW_STEP + 1.2
"""Seconds of the long step; also on a busy machine long enough to be looked at twice."""


def hold_for_long(dt: float) -> None:
    time.sleep(HELD)


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
        while step.is_alive():
            executor.spin_once(0.05)
        end = time.monotonic() + 5.0
        while not seen and time.monotonic() < end:
            executor.spin_once(0.05)
        sim.pipeline.remove("slow_part")
        held = [status for status in seen if "a step has taken" in status.message]
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
