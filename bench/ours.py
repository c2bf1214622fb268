"""Measure one case with fleet_sim: spawning, memory, the step, and each system's share of it.

Run: python bench/ours.py '{"robots": 1000, "steps": 100}'
"""

from __future__ import annotations

from typing import Any

import workload
from workload import Case

from fleet_sim import (
    AgentManager,
    AgentSpawnParams,
    GridSpawnParams,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimulationParams,
)
from fleet_sim.facade.update import MANY

LEAST_SECONDS, MOST_REPEATS = 0.5, 20
MOTION_MODES = {"omni": "omnidirectional", "differential": "differential"}


def build(case: Case) -> MultiRobotSimulationCore:
    """Return an empty simulation with the case's settings."""
    params = SimulationParams(
        gui=False,
        target_rtf=0,
        timestep=workload.TIME_STEP,
        collision_check_frequency=None if case.collisions else 0,
        collision_margin=case.margin,
        pose_flush=case.flush,
    )
    return MultiRobotSimulationCore(params)


def spawn(manager: AgentManager, case: Case) -> None:
    """Spawn the fleet on its grid."""
    grid = GridSpawnParams.from_count(case.robots, spacing=(1.0, 1.0, 0.0), offset=(0.0, 0.0, workload.HEIGHT))
    cube = ShapeParams(shape_type="box", half_extents=(workload.CUBE_HALF_EXTENT,) * 3)
    params = AgentSpawnParams(
        visual_shape=cube,
        collision_shape=cube,
        motion_mode=MOTION_MODES[case.motion],
        max_linear_vel=workload.MAX_SPEED,
        max_linear_accel=workload.MAX_ACCEL,
        max_angular_vel=workload.MAX_TURN,
        max_angular_accel=workload.MAX_TURN_ACCEL,
    )
    manager.spawn_agents_grid(case.robots, grid, params, name_prefix="robot")


def command(manager: AgentManager, case: Case) -> None:
    """Give the robots their goals."""
    goal_of = dict(zip(*workload.goals(case), strict=True))
    index_of = {agent.row: index for index, agent in enumerate(manager.agents)}

    def goal(agent: Any) -> Pose | None:
        point = goal_of.get(index_of[agent.row])
        return None if point is None else Pose((*point, workload.HEIGHT))

    manager.set_goal_pose_all(goal)


def measure(case: Case) -> dict[str, Any]:
    """Return the measurements of the case.

    A run of ours is over so soon that a moment's load of the machine could fill it; it is repeated for a while.
    """
    # Machine code is loaded first: it is neither a step nor memory of the robots.
    if case.robots >= MANY:
        run(Case(MANY, 1, moving=case.moving, motion=case.motion, collisions=case.collisions))
    result, times, shares = run(case)
    for _ in range(MOST_REPEATS):
        if sum(times) >= LEAST_SECONDS:
            break
        _, more, more_shares = run(case)
        times += more
        shares += more_shares
    systems = {name: sum(share[name] for share in shares) / len(shares) for name in shares[0]}
    return {**result, **workload.summary(times), "systems": systems}


def run(case: Case) -> tuple[dict[str, float], list[float], list[dict[str, float]]]:
    """Return the measurements of one run, the seconds of each step, and the ms of each step's systems."""
    sim = build(case)
    manager = AgentManager(sim)
    if case.bodies or case.flush == "step":
        sim.bullet.getNumBodies()  # any call connects
    before = workload.resident_bytes()
    begin = case.now()
    spawn(manager, case)
    if case.bodies:
        assert sim.client >= 0  # reading the client id creates a PyBullet body for every robot
    spawn_time = case.now() - begin
    spawned = workload.resident_bytes()
    command(manager, case)
    shares: list[dict[str, float]] = []
    times = workload.timed_steps(case, sim.step_once, lambda: shares.append(sim.get_profiling_stats()["systems"]))
    result = {
        "spawn_ms": 1e3 * spawn_time,
        "kb_per_robot": (spawned - before) / case.robots / 1e3,
        "kb_after_run": (workload.resident_bytes() - before) / case.robots / 1e3,
        "still_moving": manager.get_moving_count(),
        "collision_events": sim.collision_count,
    }
    sim.close()
    return result, times, shares


if __name__ == "__main__":
    workload.report(measure(Case.from_command_line(__doc__)))
