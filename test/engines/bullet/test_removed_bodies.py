"""PyBullet keeps memory of each removed body until its world is emptied: going back to the start empties it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bullet_scene import Scene

import fleet_sim as fs
from fleet_sim.engines.bullet.engine import MOST_REMOVED, BulletCheckpoints
from fleet_sim.world.shapes import BodyShape

MakeSim = Callable[..., fs.MultiRobotSimulationCore]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))


def come_and_go(sim: fs.MultiRobotSimulationCore, count: int) -> None:
    """Spawn and remove so many crates with a body each."""
    for _ in range(count // 100):
        crates = [fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(x, 0.0, 0.1), mass=1.0) for x in range(100)]
        spawned = [sim.spawn(crate) for crate in crates]
        sim.step_once()
        sim.remove_objects(spawned)


def falling(sim: fs.MultiRobotSimulationCore) -> str:
    """Let two crates fall onto each other; return the state."""
    for height in (0.2, 0.6):
        sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(0.02, 0.0, height), mass=1.0))
    for _ in range(10):
        sim.step_once()
    return sim.state_hash()


@pytest.mark.slow
@pytest.mark.parametrize("before", [100, MOST_REMOVED + 100])
def test_a_reset_is_the_same_however_many_bodies_were_removed(make_sim: MakeSim, before: int) -> None:
    fresh, used = make_sim(physics=True), make_sim(physics=True)
    for sim in (fresh, used):
        sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, name="wall"))
        sim.initialize_simulation()
    come_and_go(used, before)
    used.reset()
    fresh.reset()
    assert falling(used) == falling(fresh)


def test_a_reset_empties_the_engine_of_many_removed_bodies(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    mirror = scene.mirror
    checkpoints = BulletCheckpoints(mirror)
    saved = checkpoints.save()
    for _ in range(MOST_REMOVED + 1):
        mirror.bodies.remove_loose(mirror.bodies.create_loose(BodyShape()))
    epoch = mirror.client.epoch
    checkpoints.restore(saved)
    assert mirror.bodies.removed == 0 and mirror.client.epoch > epoch


def test_an_engine_that_the_user_has_set_up_is_kept(make_sim: MakeSim) -> None:
    sim = make_sim(physics=True)
    shape = sim.bullet.createCollisionShape(sim.bullet.GEOM_SPHERE, radius=0.1)
    sim.bullet.setGravity(0.0, 0.0, 0.0)
    sim.initialize_simulation()
    come_and_go(sim, MOST_REMOVED + 100)
    sim.reset()
    crate = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose.from_xyz(0.0, 0.0, 1.0), mass=1.0))
    sim.step_once()
    assert crate.position[2] == pytest.approx(1.0)
    assert sim.bullet.createMultiBody(0.0, shape) >= 0
