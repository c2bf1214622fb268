"""The client: one PyBullet world of its own, made when first needed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from fleet_sim import MultiRobotSimulationCore
from fleet_sim.base.errors import MissingDependencyError, StateError
from fleet_sim.engines.bullet.client import BulletClient, data_path


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
