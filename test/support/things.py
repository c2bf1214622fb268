"""Things in worlds with physics, as many tests put and move them."""

from __future__ import annotations

from fleet_sim import MultiRobotSimulationCore, Pose, ShapeParams, SimObject, SimObjectSpawnParams


def thing(sim: MultiRobotSimulationCore, shape: ShapeParams, *place: float, **settings: object) -> SimObject:
    """Spawn an object that looks like what it collides as, with its frame at `place`."""
    params = SimObjectSpawnParams(shape, shape, Pose.from_xyz(*place), **settings)  # type: ignore[arg-type]
    spawned: SimObject = sim.spawn(params)
    return spawned


def run(sim: MultiRobotSimulationCore, steps: int) -> None:
    """Make so many steps."""
    for _ in range(steps):
        sim.step_once()
