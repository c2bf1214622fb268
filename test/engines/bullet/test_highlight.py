"""Bodies are colored while they collide, and have their own color again afterwards."""

from __future__ import annotations

import pytest

import fleet_sim as fs

GREEN = (0.0, 1.0, 0.0, 1.0)


def color(sim: fs.MultiRobotSimulationCore, obj: fs.SimObject) -> tuple[float, ...]:
    return tuple(sim.bullet.getVisualShapeData(obj.body_id)[0][7])


def test_colliding_bodies_are_colored() -> None:
    params = fs.SimulationParams(gui=False, timestep=0.1, enable_collision_color_change=True)
    with fs.MultiRobotSimulationCore(params, collision_color=[0.0, 0.0, 1.0, 1.0]) as sim:
        box = fs.ShapeParams("box", rgba_color=GREEN)
        a, b, c = (
            sim.spawn(
                fs.SimObjectSpawnParams(visual_shape=box, collision_shape=box, initial_pose=fs.Pose((x, 0.0, 0.5)))
            )
            for x in (0.0, 0.9, 5.0)
        )
        assert [color(sim, obj) for obj in (a, b, c)] == [GREEN] * 3
        sim.step_once()
        assert [color(sim, obj) for obj in (a, b, c)] == [(0.0, 0.0, 1.0, 1.0)] * 2 + [GREEN]
        a.set_pose(fs.Pose((-3.0, 0.0, 0.5)))
        sim.step_once()
        assert [color(sim, obj) for obj in (a, b, c)] == [GREEN] * 3


def test_a_wrong_color_is_refused() -> None:
    with pytest.raises(fs.InvalidValueError, match="collision_color"):
        fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False), collision_color=[2.0, 0.0, 0.0, 1.0])
