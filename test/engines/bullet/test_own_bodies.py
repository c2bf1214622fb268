"""Bodies, forces and reads of users who call PyBullet themselves: as PyBullet's guide says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pybullet
import pytest
from things import run

import fleet_sim as fs

Sim = fs.MultiRobotSimulationCore

Maker = Callable[..., Sim]
BOX = fs.ShapeParams("box", half_extents=(0.1, 0.1, 0.1))


def ball(sim: Sim, position: Any = (0, 0, 2), mass: float = 1.0) -> int:
    """Return a body of the user's own."""
    shape = sim.bullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.2)
    return int(sim.bullet.createMultiBody(mass, shape, basePosition=position))


def drive(sim: Sim) -> Any:
    """Spawn a box that drives ahead."""
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX))
    robot.set_goal_pose(fs.Pose((5, 0, 0)))
    return robot


# ---- what the engine steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", [False, True])
def test_own_bodies_fall_with_physics(make_sim: Maker, raw: bool) -> None:
    sim = make_sim(physics=True)
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, fs.Pose((3, 0, 0.1))))
    if raw:
        shape = pybullet.createCollisionShape(pybullet.GEOM_SPHERE, radius=0.2, physicsClientId=sim.client)
        body = pybullet.createMultiBody(1.0, shape, basePosition=(0, 0, 2), physicsClientId=sim.client)
    else:
        body = ball(sim)
    run(sim, 30)
    assert sim.bullet.getBasePositionAndOrientation(body)[0][2] == pytest.approx(0.2, abs=0.01)
    assert sim.bullet.getContactPoints(body, sim.floor_id)
    assert robot.get_pose() == fs.Pose((3, 0, 0.1))


def test_reset_puts_own_bodies_back(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    body = ball(sim)
    run(sim, 30)
    sim.reset()
    assert sim.bullet.getBasePositionAndOrientation(body)[0][2] == 2.0


def test_own_bodies_stay_where_they_are_without_physics(make_sim: Maker) -> None:
    sim = make_sim()
    body = ball(sim)
    run(sim, 3)
    assert sim.bullet.getBasePositionAndOrientation(body)[0][2] == 2.0


def test_a_driving_robot_pushes_an_own_body(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX, fs.Pose((0, 0, 0.2))))
    body = ball(sim, (1, 0, 0.2))
    robot.set_goal_pose(fs.Pose((3, 0, 0.2)))
    run(sim, 40)
    assert sim.bullet.getBasePositionAndOrientation(body)[0][0] > 3.0


# ---- adopted bodies --------------------------------------------------------------------------------------------------


def test_an_adopted_body_has_its_mass_and_falls(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    obj = fs.SimObject(ball(sim), sim)
    assert obj.mass == 1.0
    run(sim, 30)
    assert obj.get_pose().z == pytest.approx(0.2, abs=0.01)


def test_an_adopted_body_with_a_mass_of_its_own_has_it_in_the_engine_too(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    still, heavy = fs.SimObject(ball(sim), sim, mass=0.0), fs.SimObject(ball(sim, (2, 0, 2)), sim, mass=5.0)
    run(sim, 30)
    assert still.get_pose().z == sim.bullet.getBasePositionAndOrientation(still.body_id)[0][2] == 2.0
    assert sim.bullet.getDynamicsInfo(heavy.body_id, -1)[0] == 5.0


def test_a_registered_body_never_moves(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    wall = sim.register_static_body(ball(sim), "wall")
    sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((2, 0, 1)), mass=1.0))
    run(sim, 10)
    assert (wall.mass, wall.get_pose().z) == (0.0, 2.0)
    assert sim.bullet.getBasePositionAndOrientation(wall.body_id)[0][2] == 2.0


def test_the_floor_stays_when_the_entity_that_stands_for_it_goes(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    sim.setup_pybullet()
    sim.remove_object(sim.register_static_body(sim.floor_id, "ground"))
    body = ball(sim)
    run(sim, 30)
    assert sim.bullet.getBasePositionAndOrientation(body)[0][2] == pytest.approx(0.2, abs=0.01)


# ---- reads -----------------------------------------------------------------------------------------------------------


def x_in(client: int, body: int) -> float:
    return float(pybullet.getBasePositionAndOrientation(body, physicsClientId=client)[0][0])


def test_what_setup_pybullet_returns_shows_the_present(sim: Sim) -> None:
    robot = drive(sim)
    client = sim.setup_pybullet()
    run(sim, 10)
    assert x_in(client, robot.body_id) == robot.get_pose().x > 0.0


def test_a_body_id_alone_shows_the_present(make_sim: Maker) -> None:
    sim = make_sim()
    robot, other = drive(sim), drive(sim)
    body = robot.body_id
    # The number of the client without asking for it: whoever has one simulation knows it is 0.
    client = next(number for number in range(1000) if sees(number, sim, body))
    for _ in range(5):
        sim.step_once()
        assert x_in(client, body) == robot.get_pose().x > 0.0
    robot.set_pose(fs.Pose((7, 0, 0)))
    assert x_in(client, body) == 7.0
    assert other.get_pose().x > 0.0


def sees(number: int, sim: Sim, body: int) -> bool:
    """Return whether `number` is the client of `sim`."""
    if not pybullet.isConnected(number):
        return False
    mark = sim.bullet.addUserData(body, "mark", "here")
    there = pybullet.getNumBodies(number) > body and pybullet.getUserDataId(body, "mark", physicsClientId=number) >= 0
    sim.bullet.removeUserData(mark)
    return bool(there)


@pytest.mark.parametrize("event", ["post_step", "collision_started"])
@pytest.mark.parametrize("flush", ["demand", "step"])
def test_a_pose_set_by_a_handler_is_in_pybullet_after_the_step(make_sim: Maker, event: str, flush: str) -> None:
    sim = make_sim(pose_flush=flush)
    robot = sim.spawn(fs.AgentSpawnParams(BOX, BOX))
    sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((0.1, 0, 0))))
    sim.events.on(event, lambda *_, **__: robot.set_pose(fs.Pose((7, 0, 0))))
    client = sim.client
    sim.step_once()
    assert x_in(client, robot.body_id) == robot.get_pose().x == 7.0


# ---- forces ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timestep", [1.0 / 240.0, 0.1])
def test_a_force_lasts_one_step_and_no_longer(make_sim: Maker, timestep: float) -> None:
    sim = make_sim(physics=True, timestep=timestep, gravity=(0, 0, 0), enable_floor=False)
    cube = sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, mass=1.0))
    cube.set_material(linear_damping=0.0)
    sim.bullet.applyExternalForce(cube.body_id, -1, (10, 0, 0), (0, 0, 0), pybullet.WORLD_FRAME)
    run(sim, 1)
    assert cube.velocity[0] == pytest.approx(10.0 * timestep)
    run(sim, 3)
    assert cube.velocity[0] == pytest.approx(10.0 * timestep)


def test_a_torque_lasts_one_step_and_a_removed_body_is_no_error(make_sim: Maker) -> None:
    sim = make_sim(physics=True, gravity=(0, 0, 0), enable_floor=False)
    cube, gone = (sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((x, 0, 0)), mass=1.0)) for x in (0, 5))
    for obj in (cube, gone):
        obj.set_material(angular_damping=0.0)
        sim.bullet.applyExternalTorque(obj.body_id, -1, torqueObj=(0, 0, 1), flags=pybullet.WORLD_FRAME)
    sim.remove_object(gone)
    run(sim, 2)
    inertia = 1.0 / 12.0 * (0.2**2 + 0.2**2)
    spin = sim.bullet.getBaseVelocity(cube.body_id)[1][2]
    assert spin == pytest.approx(0.1 / inertia, rel=0.01)


# ---- what the handle refuses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        *[("reset", "sim.clear()"), ("resetSimulation", "sim.reset()"), ("close", "sim.close()")],
        *[("disconnect", "sim.close()"), ("connect", "sim.setup_pybullet()")],
    ],
)
def test_the_handle_leaves_the_engine_to_the_simulation(sim: Sim, name: str, instead: str) -> None:
    robot = drive(sim)
    with pytest.raises(AttributeError) as caught:
        getattr(sim.bullet, name)
    assert instead in str(caught.value)
    assert sim.bullet.getBasePositionAndOrientation(robot.body_id)[0] == (0.0, 0.0, 0.0)


# ---- inertias --------------------------------------------------------------------------------------------------------

BAR = """<robot name="bar"><link name="base">
  <inertial><mass value="2"/><inertia ixx="0.5" iyy="0.6" izz="0.7" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
</link></robot>"""


@pytest.mark.parametrize(("from_file", "first"), [(True, 0.5), (False, 2.0 / 12.0 * (0.2**2 + 0.2**2))])
def test_inertias_are_the_files_where_the_settings_say_so(
    make_sim: Maker, tmp_path: Path, from_file: bool, first: float
) -> None:
    file = tmp_path / "bar.urdf"
    file.write_text(BAR)
    sim = make_sim(physics=True, inertia_from_file=from_file)
    bar = fs.Agent.from_urdf(str(file), fs.Pose((0, 0, 1)), mass=2.0, sim_core=sim)
    assert sim.bullet.getDynamicsInfo(bar.body_id, -1)[2][0] == pytest.approx(first)


def test_a_model_without_joints_falls(make_sim: Maker, tmp_path: Path) -> None:
    file = tmp_path / "bar.urdf"
    file.write_text(BAR)
    sim = make_sim(physics=True)
    bar = fs.Agent.from_urdf(str(file), fs.Pose((0, 0, 1)), mass=2.0, sim_core=sim)
    run(sim, 20)
    assert bar.get_pose().z == pytest.approx(0.1, abs=0.01)


# ---- forces on handles -----------------------------------------------------------------------------------------------


def test_a_handle_is_pushed_and_turned_for_one_step(make_sim: Maker) -> None:
    sim = make_sim(physics=True, gravity=(0, 0, 0), enable_floor=False)
    pushed, turned, levered = (
        sim.spawn(fs.SimObjectSpawnParams(BOX, BOX, fs.Pose((x, 0, 0)), mass=1.0)) for x in (0, 5, 9)
    )
    for obj in (pushed, turned, levered):
        obj.set_material(linear_damping=0.0, angular_damping=0.0)
    pushed.apply_force([10, 0, 0])
    turned.apply_torque([0, 0, 0.01])
    levered.apply_force([0, 1, 0], [9.1, 0, 0])
    run(sim, 2)
    assert pushed.velocity.tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert turned.get_pose().yaw > 0.0
    assert not turned.velocity.any()
    assert levered.get_pose().yaw > 0.0
    assert levered.velocity[1] == pytest.approx(0.1)


def test_what_the_engine_does_not_move_cannot_be_pushed(make_sim: Maker) -> None:
    robot = drive(make_sim(physics=True))
    for push in (lambda: robot.apply_force([1, 0, 0]), lambda: robot.apply_torque([1, 0, 0])):
        with pytest.raises(fs.StateError, match="it is kinematic"):
            push()


def test_what_is_no_number_of_a_body_is_refused(make_sim: Maker) -> None:
    sim = make_sim(physics=True)
    body = ball(sim)
    for wrong in (body + 0.5, str(body), "x", None, True, -1):
        with pytest.raises(fs.InvalidValueError, match="body_id: expected a whole number"):
            sim.register_static_body(wrong)  # type: ignore[arg-type]
    assert sim.register_static_body(np.int64(body), "ball").name == "ball"
