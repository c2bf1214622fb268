"""What a query sees at which point of a step, in both flush policies."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bullet_scene import Scene
from collision_scene import put, run

import fleet_sim as fs
from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import InvalidValueError, MissingDependencyError, StateError
from fleet_sim.engines.bullet.client import BulletClient, data_path
from fleet_sim.engines.bullet.engine import BulletPhysics
from fleet_sim.engines.bullet.handle import BulletHandle
from fleet_sim.world.world import restore_world, save_world

POLICIES = ("step", "demand")


def _x(scene: Scene, row: int) -> float:
    """Where PyBullet has `row`, asked through the simulation's own handle."""
    body = scene.mirror.body_id(row)
    return float(BulletHandle(scene.mirror).getBasePositionAndOrientation(body)[0][0])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("asked_before", [True, False])
def test_phase_1_sees_the_last_step_and_phase_2_this_one(
    make_scene: Callable[..., Scene], policy: str, asked_before: bool
) -> None:
    scene = make_scene(policy)
    rows = scene.spawn([[0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    if asked_before:
        scene.mirror.ensure()
    for number in range(1, 4):
        seen: list[float] = []

        def phase_1(number: int = number, seen: list[float] = seen) -> None:
            seen.append(_x(scene, rows[0]))
            scene.put(rows[:1], [float(number), 0.0, 0.0])
            seen.append(_x(scene, rows[0]))
            scene.put(rows[:1], [number + 0.5, 0.0, 0.0])
            seen.append(_x(scene, rows[0]))
            assert _x(scene, rows[1]) == 5.0

        before = float(scene.world.position[rows[0], 0])
        scene.step(phase_1)
        assert seen == [before] * 3
        assert _x(scene, rows[0]) == number + 0.5


@pytest.mark.parametrize("policy", POLICIES)
def test_entities_spawned_in_phase_1_can_be_queried_there(make_scene: Callable[..., Scene], policy: str) -> None:
    scene = make_scene(policy)
    scene.spawn(np.zeros((3, 3)))
    seen: list[float] = []

    def phase_1() -> None:
        scene.world.release(scene.world.rows[:1])
        rows = scene.spawn(np.full((70, 3), 4.0))
        seen.append(_x(scene, rows[-1]))

    scene.step(phase_1)
    assert seen == [4.0]
    scene.mirror.ensure()
    assert scene.client.getNumBodies() == len(scene.world) == 72


def test_demand_does_nothing_until_something_asks(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((4, 3)))
    for _ in range(3):
        scene.step(lambda: scene.put(rows, np.ones((4, 3))))
    assert not scene.client.connected


def test_demand_writes_only_what_is_asked_for(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((3, 3)))
    scene.mirror.ensure()
    bodies = [scene.mirror.body_id(row) for row in rows]
    scene.put(rows, np.ones((3, 3)))
    scene.mirror.ensure(rows[:1])
    assert [scene.client.getBasePositionAndOrientation(body)[0][0] for body in bodies] == [1.0, 0.0, 0.0]


def test_the_step_policy_writes_every_moved_pose_in_phase_2(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene("step")
    rows = scene.spawn(np.zeros((3, 3)))
    scene.step(lambda: scene.put(rows[:2], np.ones((2, 3))))
    bodies = scene.mirror.bodies.table.body[rows].tolist()
    assert [scene.client.getBasePositionAndOrientation(body)[0][0] for body in bodies] == [1.0, 1.0, 0.0]


def test_a_raw_client_id_is_always_up_to_date(scene: Scene) -> None:
    rows = scene.spawn(np.zeros((2, 3)))
    number = scene.mirror.hand_out()
    import pybullet

    def raw(row: Any) -> float:
        body = int(scene.mirror.bodies.table.body[row])
        return float(pybullet.getBasePositionAndOrientation(body, physicsClientId=number)[0][0])

    scene.put(rows, [[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    assert [raw(row) for row in rows] == [1.0, 2.0]
    new = scene.spawn([9.0, 0.0, 0.0])
    assert raw(new[0]) == 9.0
    seen: list[float] = []

    def phase_1() -> None:
        scene.put(rows[:1], [3.0, 0.0, 0.0])
        seen.append(raw(rows[0]))

    scene.step(phase_1)
    assert seen == [1.0]
    assert raw(rows[0]) == 3.0


def test_a_step_without_staging_refuses_queries_in_phase_1(scene: Scene) -> None:
    scene.spawn([0.0, 0.0, 0.0])
    scene.mirror.begin_step(stage=False)
    with pytest.raises(StateError, match="stage=True"):
        scene.mirror.ensure()
    scene.mirror.end_step()
    scene.mirror.ensure()


def test_bodies_that_no_longer_fit_go_after_columns_were_replaced(scene: Scene) -> None:
    world = scene.world
    rows = scene.spawn([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    saved = save_world(world)
    scene.put(rows, np.full((2, 3), 8.0))
    scene.spawn([5.0, 0.0, 0.0])
    scene.mirror.ensure()
    restore_world(world, saved)
    scene.mirror.reconcile()
    assert scene.client.getNumBodies() == 2
    assert [_x(scene, row) for row in rows] == [0.0, 1.0]


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="step, demand"):
        Scene("sometimes")


def test_constants_and_pure_functions_cost_no_flush(scene: Scene) -> None:
    scene.spawn(np.zeros((3, 3)))
    handle = BulletHandle(scene.mirror)
    assert handle.GEOM_BOX == scene.client.GEOM_BOX
    assert handle.getQuaternionFromEuler([0.0, 0.0, 0.0])[3] == 1.0
    assert scene.client.getNumBodies() == 0
    assert handle.getNumBodies() == 3
    assert "getAABB" in dir(handle)
    assert "ray" in handle.rayTest.__doc__
    with pytest.raises(AttributeError):
        handle.getNothing()


def test_rays_see_moved_robots(scene: Scene) -> None:
    row = scene.spawn([0.0, 0.0, 0.0])
    handle = BulletHandle(scene.mirror)
    assert handle.rayTest([-5.0, 2.0, 0.0], [5.0, 2.0, 0.0])[0][0] == -1
    scene.put(row, [0.0, 2.0, 0.0])
    hit = handle.rayTest([-5.0, 2.0, 0.0], [5.0, 2.0, 0.0])[0]
    assert scene.mirror.rows_of_bodies([hit[0]]).tolist() == row.tolist()


def test_the_handle_is_lazy_too() -> None:
    scene = Scene()
    BulletHandle(scene.mirror)
    assert not scene.client.connected
    assert "fleet_sim.engines.bullet.client" in sys.modules


def test_rendering_can_be_switched_before_there_is_a_window(scene: Scene) -> None:
    BulletHandle(scene.mirror).set_rendering(False)
    with scene.client.quiet():
        BulletHandle(scene.mirror).set_rendering(True)
    assert not scene.client.connected


def test_staging_is_saved_where_nothing_asks(scene: Scene) -> None:
    """With physics at hand, poses are only staged for it while something is dynamic."""
    BulletPhysics(scene.mirror)
    row = scene.spawn([1.0, 0.0, 0.0])
    scene.mirror.begin_step(stage=False)
    assert not scene.mirror.staged.poses(row)[0].any()
    scene.mirror.end_step()
    scene.world.dynamic[row] = True
    scene.mirror.begin_step(stage=False)
    assert scene.mirror.staged.poses(row)[0].all()
    scene.mirror.end_step()


# ---- The client: one PyBullet world of its own, made when first needed -----------------------------------------------


def test_nothing_is_imported_before_the_first_use() -> None:
    code = (
        "import sys; from fleet_sim.engines.bullet.client import BulletClient; c = "
        "BulletClient(); c.reset(); c.close();"
        "assert 'pybullet' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)


def test_missing_pybullet_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['pybullet'] = None\n"
        "from fleet_sim.engines.bullet.client import BulletClient\n"
        "try: BulletClient().connect()\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=os.environ)
    assert out.stdout.startswith(MissingDependencyError.__name__)
    assert "fleet_sim[bullet]" in out.stdout


def test_functions_go_to_their_own_world() -> None:
    first, second = BulletClient(), BulletClient()
    body = first.createMultiBody(0.0, -1, -1, [1.0, 2.0, 3.0])
    assert (first.getNumBodies(), second.getNumBodies()) == (1, 0)
    assert first.getBasePositionAndOrientation(body)[0] == (1.0, 2.0, 3.0)
    assert first.GEOM_BOX == second.GEOM_BOX
    assert first.id != second.id
    first.close()
    second.close()


def test_close_is_idempotent_and_final() -> None:
    client = BulletClient()
    client.connect()
    client.close()
    client.close()
    with pytest.raises(StateError, match="closed"):
        client.getNumBodies()


def test_reset_empties_the_world_and_begins_an_epoch() -> None:
    client = BulletClient(floor=True, gravity=(0.0, 0.0, -1.0))
    client.createMultiBody(0.0, -1, -1)
    epoch = client.epoch
    client.reset()
    assert client.epoch == epoch + 1
    assert client.getNumBodies() == 1
    assert client.getBodyInfo(client.floor_id)[1] == b"plane"
    assert client.getPhysicsEngineParameters()["gravityAccelerationZ"] == -1.0
    client.close()


def test_calls_that_would_bypass_the_client_are_refused() -> None:
    client = BulletClient()
    with pytest.raises(AttributeError, match=r"reset\(\)"):
        client.resetSimulation()
    with pytest.raises(AttributeError):
        client.noSuchFunction()
    client.close()


@pytest.mark.parametrize("display", ["", ":4711"])
def test_a_window_without_an_x_server_is_an_error_not_the_end(display: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", display)
    with pytest.raises(StateError, match="Xvfb"):
        BulletClient(gui=True).connect()


def test_files_that_come_with_pybullet_are_found() -> None:
    assert data_path("plane.urdf").endswith("plane.urdf")
    assert os.path.isfile(data_path("plane.urdf"))


@pytest.mark.parametrize("name", ["setRealTimeSimulation", "setJointMotorControl"])
def test_calls_that_act_beside_the_simulation_name_another(sim: MultiRobotSimulationCore, name: str) -> None:
    assert not hasattr(sim.bullet, name)
    with pytest.raises(AttributeError, match=r"use (sim\.run_simulation|setJointMotorControl2)\(\)"):
        getattr(sim.bullet, name)


# ---- PyBullet's own calls on collision filters: they act on the whole simulation, or say what to write ---------------


Make = Callable[..., fs.MultiRobotSimulationCore]


def test_pybullets_calls_on_entities_are_refused_with_what_to_write(make_sim: Make) -> None:
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


# ---- What PyBullet prints: lines of our log, never text between the output of a program ------------------------------


pytest.importorskip("pybullet")

LINK = '<link name="base"><collision><geometry><box size="1 1 1"/></geometry></collision></link>'
ROBOT = f'<robot name="x">{LINK}</robot>'

PROGRAM = """
import logging, sys
import fleet_sim as fs

logging.basicConfig(format="%(levelname)s %(name)s %(message)s")
with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, physics=True)) as sim:
    print("before")
    for number in range(3):
        sim.bullet.loadURDF(sys.argv[1], [0, 0, 3.0 * number])
    print("after")
"""


def test_warnings_of_the_engine_are_logged_once_and_not_printed(tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(ROBOT)
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(robot)], capture_output=True, text=True, check=True)
    assert done.stdout == "before\nafter\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith("WARNING fleet_sim.engines.bullet PyBullet: No inertial data for link, using mass=1")
    assert line.endswith(": base")


def test_importing_the_engine_prints_nothing() -> None:
    code = "from fleet_sim.engines.bullet.client import bullet_module; bullet_module(); print('loaded')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("loaded\n", "")


TALKER = """
import sys, threading
import fleet_sim as fs

over, lines = threading.Event(), []

def talk():
    while not over.is_set():
        lines.append(f"line {len(lines)}")
        sys.stderr.write(lines[-1] + "\\n")

thread = threading.Thread(target=talk)
thread.start()
with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, physics=True)) as sim:
    for number in range(30):
        sim.bullet.loadURDF(sys.argv[1], [0, 0, 3.0 * number])
over.set()
thread.join()
print(*lines, sep="\\n")
"""


def test_what_other_threads_log_meanwhile_is_not_lost(tmp_path: Path) -> None:
    # As the greeting of the node was, which is written while the simulation loads the engine.
    robot = tmp_path / "robot.urdf"
    robot.write_text(ROBOT)
    # A file, as a pipe may take a long text in parts, with lines of others in between.
    errors = tmp_path / "errors"
    with errors.open("wb") as output:
        command = [sys.executable, "-c", TALKER, str(robot)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=output, text=True, check=True)
    text = errors.read_text()
    written = [line for line in text.splitlines() if line.startswith("line ")]
    # Some come a moment later than others that were written after them.
    assert sorted(written) == sorted(done.stdout.splitlines())
    assert "pybullet build time" not in text


def test_a_program_without_standard_output_can_load_robots(tmp_path: Path) -> None:
    robot = tmp_path / "robot.urdf"
    robot.write_text(ROBOT)
    program = "import sys; sys.stdout = sys.stderr = None\n" + PROGRAM.replace("print", "str")
    done = subprocess.run([sys.executable, "-c", program, str(robot)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
