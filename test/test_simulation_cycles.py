"""Many spawns and removals leave nothing behind: no memory, no rows, no bodies."""

from __future__ import annotations

import gc
import tracemalloc
from itertools import pairwise

import pytest
from small_world import BOX, MakeSim, robot

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore


@pytest.mark.slow
def test_ten_thousand_cycles_leave_nothing_behind(make_sim: MakeSim) -> None:
    # Of compiled code numba keeps 0.1 MB for itself, over the first thousand steps.
    sim = make_sim(keep_initial_state=False, compiled_code="never")
    manager = fs.AgentManager(sim)
    params = fs.AgentSpawnParams(visual_shape=BOX, collision_shape=BOX, motion_mode="omnidirectional")
    grid = fs.GridSpawnParams.from_count(100)

    def cycles(count: int) -> None:
        for _ in range(count):
            agents = manager.spawn_agents_grid(100, grid, params, name_prefix="r")
            agents[0].attach_object(agents[1])
            agents[2].register_callback(print, 1e-3)
            agents[3].events.on("arrived", print)
            agents[4].user_data["x"] = 1
            agents[5].set_path([fs.Pose.from_xyz(1, 0, 0)] * 5)
            agents[6].add_action(fs.Wait(1e6))
            agents[7].add_action(fs.MoveTo(fs.Pose.from_xyz(1e3, 0, 0), timeout=1e6))
            sim.step_once()
            sim.remove_objects(agents)
        manager.get_object_count()
        gc.collect()

    cycles(5)
    columns, shapes = sim.get_memory_usage()["columns_mb"], len(sim.world.shapes)
    tracemalloc.start()
    try:
        cycles(5)
        # What robots leave behind grows each time. What something else in this process makes once, does not.
        traced = [tracemalloc.get_traced_memory()[0]]
        for _ in range(2):
            cycles(95)
            traced.append(tracemalloc.get_traced_memory()[0])
        grown = min(after - before for before, after in pairwise(traced))
    finally:
        tracemalloc.stop()
    assert len(sim.world) == 0
    assert sim.world.capacity <= 256
    assert (sim.get_memory_usage()["columns_mb"], len(sim.world.shapes)) == (columns, shapes)
    assert grown < 100_000, f"{grown} bytes more after 9,500 robots came and went"


def test_bodies_of_removed_robots_are_gone_from_pybullet(make_sim: MakeSim) -> None:
    pytest.importorskip("pybullet")
    sim = make_sim(pose_flush="step", enable_floor=False)
    for _ in range(20):
        agents = [robot(sim, f"r{index}", 2.0 * index) for index in range(10)]
        sim.step_once()
        assert sim.bullet.getNumBodies() == 10
        sim.remove_objects(agents)
    assert sim.bullet.getNumBodies() == 0
