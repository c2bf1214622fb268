"""Models named by package: found in folders of models, by messages in no other place."""

from __future__ import annotations

from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.base.files import remote_input
from fleet_sim.models import resolve_urdf
from fleet_sim.world.commands import Spawn

URDF = '<robot name="r"><link name="base"/></robot>'


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Folders: models/bots with a model, a link to a model outside, and a link to another folder inside."""
    for folder in ("models/bots/urdf", "models/more", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("models/bots/urdf/a.urdf", "models/more/b.urdf", "outside/c.urdf"):
        (tmp_path / file).write_text(URDF)
    (tmp_path / "models/bots/away.urdf").symlink_to(tmp_path / "outside/c.urdf")
    (tmp_path / "models/bots/inside").symlink_to(tmp_path / "models/more")
    return tmp_path / "models"


@pytest.mark.parametrize(
    "uri", ["package://bots/urdf/a.urdf", "model://bots/urdf/a.urdf", "package://bots/inside/b.urdf"]
)
def test_messages_find_models_by_package(models: Path, uri: str) -> None:
    with remote_input([models]):
        assert resolve_urdf(uri, search_paths=[models]).startswith(str(models))


@pytest.mark.parametrize(
    "uri",
    [
        "package://bots/../../outside/c.urdf",
        "package://bots/away.urdf",
        "package:////etc/passwd",
        "model://../outside/c.urdf",
    ],
)
def test_messages_find_nothing_outside_of_them(models: Path, uri: str) -> None:
    with remote_input([models]), pytest.raises(fs.InvalidValueError, match="is not in a folder of models") as caught:
        resolve_urdf(uri, search_paths=[models])
    assert "outside" not in str(caught.value) or "outside" in uri


def test_a_user_finds_what_a_link_names_and_is_told_where_was_searched(models: Path) -> None:
    assert resolve_urdf("package://bots/away.urdf", search_paths=[models]) == str(models.parent / "outside/c.urdf")
    with pytest.raises(
        fs.InvalidValueError, match=r"there is no model 'package://bots/no.urdf'. Searched: .*bots/no.urdf"
    ):
        resolve_urdf("package://bots/no.urdf", search_paths=[models])


def test_a_message_spawns_a_model_by_package(models: Path) -> None:
    sim = fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, model_paths=[str(models)]))
    entry = {"name": "x", "urdf_path": "package://bots/urdf/a.urdf"}
    assert sim.dispatcher.dispatch(Spawn(robots=(entry,), remote=True)).accepted_names == ("x",)
