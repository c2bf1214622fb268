"""What arrives from other processes may name what is known, and read files of model folders, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.files import is_remote, remote_input
from fleet_sim.robots.motion.goal_controllers import CONTROLLERS
from fleet_sim.world.commands import Command, Reset, RestoreState, SaveState, Spawn

URDF = '<robot name="r"><link name="base"/></robot>'


@pytest.fixture
def sim() -> fs.MultiRobotSimulationCore:
    return fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False))


def spawn(sim: fs.MultiRobotSimulationCore, **entry: Any) -> None:
    sim.dispatcher.dispatch(Spawn(robots=({"name": "r", **entry},), remote=True))


@pytest.mark.parametrize("path", ["this.X", "this:X", "no.such.module.X"])
def test_a_class_by_its_path_is_refused_and_nothing_is_imported(sim: fs.MultiRobotSimulationCore, path: str) -> None:
    sys.modules.pop("this", None)
    with pytest.raises(FleetSimError, match="messages may not import"):
        spawn(sim, controller={"class": path})
    assert "this" not in sys.modules
    assert not sim.agents


def test_what_is_registered_may_be_named(sim: fs.MultiRobotSimulationCore) -> None:
    spawn(sim, controller="random_walk")
    assert [agent.name for agent in sim.agents] == ["r"]


def test_the_user_may_still_name_a_class_by_its_path() -> None:
    assert CONTROLLERS.at("fleet_sim.robots.motion.goal_controllers:Patrol").__name__ == "Patrol"
    with remote_input():
        assert is_remote()
    assert not is_remote()


def test_files_outside_of_model_folders_are_refused_and_not_told_apart(
    sim: fs.MultiRobotSimulationCore, tmp_path: Path
) -> None:
    there = tmp_path / "secret.urdf"
    there.write_text(URDF, encoding="utf-8")
    answers = []
    for path in (there, tmp_path / "absent.urdf"):
        with pytest.raises(FleetSimError, match="not in a folder of models") as caught:
            spawn(sim, urdf_path=str(path))
        # Long paths are shown in part.
        answers.append(str(caught.value).replace(path.name, "FILE").replace(path.stem, "FILE"))
        with pytest.raises(FleetSimError, match="not in a folder of models"):
            spawn(sim, shape={"shape_type": "mesh", "mesh_path": str(path.with_suffix(".obj"))})
    assert answers[0] == answers[1]
    # A program of the user's own may, and what the operator asks for from afar goes on with that.
    sim.dispatcher.dispatch(Spawn(robots=({"name": "mine", "urdf_path": str(there)},)))
    sim.dispatcher.dispatch(SaveState(name="here"))
    sim.dispatcher.dispatch(Reset(remote=True))
    sim.dispatcher.dispatch(RestoreState(name="here", remote=True))
    assert [agent.name for agent in sim.agents] == ["mine"]


def test_neither_links_nor_dots_lead_out_of_a_model_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.urdf").write_text(URDF, encoding="utf-8")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "good.urdf").write_text(URDF, encoding="utf-8")
    (folder / "link.urdf").symlink_to(tmp_path / "secret.urdf")
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, model_paths=[str(folder)]))
    for path in (folder / "link.urdf", f"{folder}/../secret.urdf", "link/../../secret.urdf"):
        with pytest.raises(FleetSimError, match="not in a folder of models"):
            spawn(sim, urdf_path=str(path))
    spawn(sim, urdf_path=str(folder / "good.urdf"))
    spawn(sim, urdf_path="good", name="by_name")
    spawn(sim, urdf_path="arm6", name="known")
    assert len(sim.agents) == 3


@pytest.mark.parametrize("count", [300_000, 2147483648, 6e200])
def test_one_message_does_not_spawn_a_crowd(sim: fs.MultiRobotSimulationCore, count: float) -> None:
    # A grid may have a million in a file of one's own.
    with pytest.raises(FleetSimError, match=r"at most (10,000|1e\+06)"):
        spawn(sim, grid={"count": count})
    with pytest.raises(FleetSimError, match="at most 10,000 entities"):
        sim.dispatcher.dispatch(Spawn(robots=({"name": "r"},) * 10_001, remote=True))


def test_a_spawn_stays_remote_in_a_log() -> None:
    command = Spawn(robots=({"name": "r"},), remote=True)
    assert Command.from_dict(command.to_dict()) == command
