"""Measure one case with pybullet-fleet, through its public interface. Runs in an environment of its own.

Run: .venv-peer/bin/python bench/peer.py '{"robots": 1000, "steps": 100}'
"""

from __future__ import annotations

from typing import Any

import workload
from pybullet_fleet import (
    AgentManager,
    AgentSpawnParams,
    FleetCommandDispatcher,
    GridSpawnParams,
    MultiRobotSimulationCore,
    RobotGoalCommand2D,
    SimulationParams,
)
from workload import Case


def build(case: Case) -> MultiRobotSimulationCore:
    """Return an empty simulation with the settings of the peer's benchmark."""
    params = SimulationParams(
        gui=False,
        enable_monitor_gui=False,
        target_rtf=0.0,
        timestep=workload.TIME_STEP,
        physics=False,
        collision_check_frequency=None if case.collisions else 0,
        log_level="error",
    )
    return MultiRobotSimulationCore(params)


def spawn(manager: AgentManager, case: Case) -> None:
    """Spawn the fleet on its grid."""
    last = case.side - 1
    grid = GridSpawnParams(
        x_min=0, x_max=last, y_min=0, y_max=last, spacing=[1.0, 1.0, 0.0], offset=[0.0, 0.0, workload.HEIGHT]
    )
    controller = {
        "type": case.motion,
        "max_linear_vel": workload.MAX_SPEED,
        "max_linear_accel": workload.MAX_ACCEL,
        "max_angular_vel": workload.MAX_TURN,
        "max_angular_accel": workload.MAX_TURN_ACCEL,
    }
    params = AgentSpawnParams(urdf_path="simple_cube", controller=controller, mass=0.0)
    manager.spawn_agents_grid(num_agents=case.robots, grid_params=grid, spawn_params=params, name_prefix="robot")


def command(sim: MultiRobotSimulationCore, case: Case) -> None:
    """Send the goals through the interface that the peer's own benchmark uses for fleets."""
    commands = [
        RobotGoalCommand2D(name=f"robot_{index}", position=point, yaw=0.0, z=workload.HEIGHT)
        for index, point in zip(*workload.goals(case), strict=True)
    ]
    ack = FleetCommandDispatcher(sim).navigate(commands)
    assert len(ack.accepted_names) == len(commands), "the peer refused some goals"


def measure(case: Case) -> dict[str, Any]:
    """Return the measurements of the case."""
    sim = build(case)
    manager = AgentManager(sim_core=sim, fleet_controller={"type": f"batch_{case.motion}"})
    before = workload.resident_bytes()
    begin = case.now()
    spawn(manager, case)
    spawn_time = case.now() - begin
    spawned = workload.resident_bytes()
    command(sim, case)
    sim.step_once()  # its robots start one step after their command
    times = workload.timed_steps(case, sim.step_once)
    return {
        **workload.summary(times),
        "spawn_ms": 1e3 * spawn_time,
        "kb_per_robot": (spawned - before) / case.robots / 1e3,
        "kb_after_run": (workload.resident_bytes() - before) / case.robots / 1e3,
        "still_moving": manager.get_moving_count(),
        "collision_events": sim.collision_count,
    }


if __name__ == "__main__":
    workload.report(measure(Case.from_command_line(__doc__)))
