"""Things that lidars look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from shapes_of_kinds import shape_of

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore
BOT = fs.ShapeParams("cylinder", radius=0.2, height=0.3)


def thing(sim: Sim, kind: str, pose: fs.Pose, name: str | None = None, **shape: Any) -> fs.SimObject:
    """Spawn a shape of a kind that can be seen."""
    handle: fs.SimObject = sim.spawn(fs.SimObjectSpawnParams(None, shape_of(kind, **shape), pose, name=name))
    return handle


def at(x: float, y: float, z: float = 0.5) -> fs.Pose:
    """Return a pose, by default half a meter high."""
    return fs.Pose.from_xyz(x, y, z)


def zoo(sim: Sim, kinds: Sequence[str], tilt: float, seed: int) -> list[Any]:
    """Spawn things in all orientations, and robots with lidars between them; return the lidars."""
    rng = np.random.default_rng(seed)
    lidars = []
    for cell in range(100):
        x, y = (np.array(divmod(cell, 10)) - 4.5) * 1.6 + rng.uniform(-0.1, 0.1, 2)
        turn = (*rng.uniform(-tilt, tilt, 2), rng.uniform(-3, 3))
        size = {
            "half_extents": tuple(rng.uniform(0.1, 0.5, 3)),
            "radius": rng.uniform(0.1, 0.5),
            "height": rng.uniform(0.2, 0.8),
        }
        if (cell + cell // 10) % 2:
            thing(sim, kinds[cell // 2 % len(kinds)], fs.Pose.from_euler(x, y, rng.uniform(0.2, 0.8), *turn), **size)
        elif cell % 20 < 10:
            robot = sim.spawn(fs.AgentSpawnParams(BOT, BOT, fs.Pose.from_yaw(x, y, 0.5, turn[2])))
            lidars.append(sim.add_sensor("lidar", robot, pose=[0.05, 0, rng.uniform(-0.1, 0.1)]))
    return lidars
