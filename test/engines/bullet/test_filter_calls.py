"""PyBullet's own calls on collision filters: they act on the whole simulation, or say what to write."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from collision_scene import pair, put, run, touching

import fleet_sim as fs

Make = Callable[..., fs.MultiRobotSimulationCore]


def test_pybullets_calls_act_on_the_whole_simulation(make_sim: Make) -> None:
    sim = make_sim()
    one, other = put(sim, "one", 0.0), put(sim, "other", 0.3)
    sim.bullet.setCollisionFilterPair(one.body_id, other.body_id, -1, -1, 0)
    run(sim, 1)
    assert touching(sim) == set()
    sim.bullet.setCollisionFilterPair(one.body_id, other.body_id, -1, -1, enableCollision=1)
    run(sim, 1)
    assert touching(sim) == pair("one", "other")
    sim.set_collision_pair(one, other, None)
    sim.bullet.setCollisionFilterGroupMask(one.body_id, -1, 0, 0)
    run(sim, 1)
    assert touching(sim) == set() and (one.collision_group, one.collision_mask) == (0, 0)


def test_pybullets_calls_on_links_are_refused_with_what_to_write(make_sim: Make) -> None:
    sim = make_sim()
    arm, crate = fs.Agent.from_urdf("arm6", sim_core=sim, use_fixed_base=True), put(sim, "crate", 3.0)
    with pytest.raises(fs.StateError, match=r"sim\.set_collision_pair\(a, b, enabled\)"):
        sim.bullet.setCollisionFilterPair(crate.body_id, arm.body_id, -1, 2, 0)
    with pytest.raises(fs.StateError, match=r"set_collision_filter\(group, mask\)"):
        sim.bullet.setCollisionFilterGroupMask(arm.body_id, -1, 0, 0)


def test_pybullets_calls_on_own_bodies_are_the_engines(make_sim: Make) -> None:
    sim = make_sim(physics=True)
    slab = put(sim, "slab", 0.0)
    shape = sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.1)
    balls = [sim.bullet.createMultiBody(1.0, shape, basePosition=(0.3 * i - 0.15, 0, 0.7)) for i in range(2)]
    sim.bullet.setCollisionFilterPair(balls[0], slab.body_id, -1, -1, 0)
    run(sim, 8)
    heights = [sim.bullet.getBasePositionAndOrientation(ball)[0][2] for ball in balls]
    assert heights == pytest.approx([0.1, 0.6], abs=0.02)
