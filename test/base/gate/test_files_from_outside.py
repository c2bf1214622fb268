"""A world that a stranger sends reads, lists and writes no file that the operator did not name for that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from file_audit import FileAudit, file_audit

import fleet_sim as fs
from fleet_sim.base import files
from fleet_sim.base.errors import FleetSimError
from fleet_sim.base.scenario import as_scenario
from fleet_sim.base.settings import parse_remote
from fleet_sim.robots.dispatch import LoadWorld
from fleet_sim.world.commands import Spawn

OFFICE = "sites/office.yaml"
CONTENTS = {
    "canary_orders.csv": "id,pick,drop\n",
    "canary_key": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
    "canary_agents.csv": "x,y\n1,1\n",
    "canary.yaml": "{image: canary.pgm, resolution: 1, origin: [0, 0, 0], occupied_thresh: 0.6, free_thresh: 0.2}",
    "canary.pgm": "P2\n2 2\n255\n255 255 255 255\n",
    "canary.building.yaml": "levels: {}\n",
    "canary.urdf": '<robot name="r"><link name="base"/></robot>',
    "canary.sdf": '<sdf version="1.7"><world name="w"/></sdf>',
    "canary.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "canary.tasks": "1\n1,2\n",
    "canary.csv": "old",
    "canary.png": "old",
    "canary.svg": "old",
    "canary.gif": "old",
    "canary.parquet": "old",
    "canary.mp4": "old",
}
ROBOTS = "robots: [{name: r, at: free}]"
SWARM = "swarm: {type: RectangularWorld, size: [9, 9]"
AGENTS = "agents: [{type: MazeAgent, position: [3, 3]}], metrics: [Polarization]"
READS = {
    "orders": f"{{{ROBOTS}, site: {OFFICE}, orders: {{file: PATH}}}} canary_orders.csv",
    "key": f"{{{ROBOTS}, site: {OFFICE}, orders: {{file: PATH}}}} canary_key",
    "tasks": f"{{{ROBOTS}, site: {OFFICE}, orders: {{tasks: PATH}}}} canary.tasks",
    "site": "{robots: [], site: PATH} canary.yaml",
    "picture": "{robots: [{name: r, at: free}], site: {map: PATH}} canary.yaml",
    "building": "{building: PATH} canary.building.yaml",
    "csv": f"{{{SWARM}, spawners: [{{type: CsvAgentSpawner, file: PATH, agent: MazeAgent}}]}}}} canary_agents.csv",
    "model": "{robots: [{name: r, urdf_path: PATH}]} canary.urdf",
    "sdf": "{objects: [{name: r, sdf: PATH}]} canary.sdf",
    "mesh": "{objects: [{name: r, shape: {shape_type: mesh, mesh_path: PATH}}]} canary.obj",
    "heights": "{objects: [{name: r, shape: {shape_type: heightfield, height_image: PATH}}]} canary.pgm",
}
WRITES = {
    "csv": f"{{{SWARM}, {AGENTS}, subscribers: [{{type: table, path: PATH}}]}}}} canary.csv",
    "parquet": f"{{{SWARM}, {AGENTS}, subscribers: [{{type: table, path: PATH}}]}}}} canary.parquet",
    "png": f"{{{SWARM}, {AGENTS}, subscribers: [{{type: plot, path: PATH}}]}}}} canary.png",
    "svg": f"{{{SWARM}, {AGENTS}, subscribers: [{{type: plot, path: PATH}}]}}}} canary.svg",
    "gif": f"{{{SWARM}, {AGENTS}, subscribers: [{{type: gif, path: PATH}}]}}}} canary.gif",
    "mp4": f"{{{SWARM}, {AGENTS}, subscribers: [{{type: video, path: PATH}}]}}}} canary.mp4",
}


@pytest.fixture
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the host's that nobody named; models/way in it leads back to it."""
    # Short: answers show the beginning of a path.
    folder = tmp_path_factory.mktemp("own")
    (folder / "models").mkdir()
    (folder / "out").mkdir()
    for name, content in CONTENTS.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "models" / "way").symlink_to(folder)
    (folder / "out" / "way").symlink_to(folder)
    return folder


@pytest.fixture
def sim(private: Path) -> Iterator[fs.MultiRobotSimulationCore]:
    params = fs.SimulationParams(gui=False, monitor=False, model_paths=[str(private / "models")])
    with fs.MultiRobotSimulationCore(params) as made:
        made.world.output_folder = str(private / "out")
        made.spawn_robots_from_config([{"name": "before", "urdf_path": "diff_base"}])
        yield made


def load(sim: fs.MultiRobotSimulationCore, text: str) -> None:
    """Load the world in the text of a message, as `sim/load_world` does."""
    scenario = dict(as_scenario(parse_remote(text, "resource_string")))
    sim.dispatcher.dispatch(LoadWorld(scenario=scenario, remote=True))


def answer(sim: fs.MultiRobotSimulationCore, text: str, path: Path) -> str:
    with pytest.raises(FleetSimError) as caught:
        load(sim, text.replace("PATH", f'"{path}"'))
    return str(caught.value)


@pytest.mark.parametrize("way", ["", "models/way", "models/.."])
@pytest.mark.parametrize("kind", READS)
def test_files_are_not_read_and_not_told_apart_from_those_that_are_not_there(
    sim: fs.MultiRobotSimulationCore, private: Path, kind: str, way: str
) -> None:
    text, _, name = READS[kind].rpartition(" ")
    load(sim, "{robots: [{name: r}]}")
    with audited(private) as audit:
        there = answer(sim, text, private / way / name)
        missing = answer(sim, text, private / way / name.replace("canary", "absent"))
    assert not audit.read and not audit.written
    assert there.replace("canary", "absent") == missing
    for other in CONTENTS:
        assert other not in there.replace(name, ""), "no name of another file is told"
    assert not re.search(r"OPENSSH|root:|column", there)
    assert [agent.name for agent in sim.agents] == ["r"], "what was there stays"


@pytest.mark.parametrize("way", ["", "out/way", "out/.."])
@pytest.mark.parametrize("kind", WRITES)
def test_no_file_is_written_or_replaced(sim: fs.MultiRobotSimulationCore, private: Path, kind: str, way: str) -> None:
    text, _, name = WRITES[kind].rpartition(" ")
    before = listing(private)
    with audited(private) as audit:
        there = answer(sim, text, private / way / name)
        missing = answer(sim, text, private / way / name.replace("canary", "absent"))
        relative = answer(sim, text, Path(name))
    assert not audit.written and not audit.read
    assert there.replace("canary", "absent") == missing
    assert "messages may write new files below the folder" in relative
    assert listing(private) == before
    assert [agent.name for agent in sim.agents] == ["before"]


@pytest.mark.parametrize("kind", WRITES)
def test_new_files_are_written_below_the_folder_for_output(
    sim: fs.MultiRobotSimulationCore, private: Path, kind: str
) -> None:
    text, _, name = WRITES[kind].rpartition(" ")
    load(sim, text.replace("PATH", f'"{private / "out" / name}"'))
    for _ in range(12):
        sim.step_once()
    sim.close()
    assert listing(private / "out").keys() == {str(private / "out" / name)}


def test_what_is_there_is_not_replaced_below_the_folder_for_output(
    sim: fs.MultiRobotSimulationCore, private: Path
) -> None:
    text, _, name = WRITES["csv"].rpartition(" ")
    (private / "out" / name).write_text("mine")
    (private / "out" / "link.csv").symlink_to(private / "out" / "nothing.csv")
    before = listing(private)
    for taken in (name, "link.csv"):
        assert "messages may write new files" in answer(sim, text, private / "out" / taken)
    sim.close()
    assert listing(private) == before


def test_a_world_that_is_refused_has_written_nothing(sim: fs.MultiRobotSimulationCore, private: Path) -> None:
    """Also the operator's own: the world is tried before it takes the place of the one that is there."""
    swarm = {"type": "RectangularWorld", "agents": [{"type": "MazeAgent", "position": [3.0, 3.0]}]}
    subscribers = [
        {"type": "plot", "path": str(private / "canary.png")},
        {"type": "table", "path": str(private / "canary.csv")},
    ]
    before = listing(private)
    with pytest.raises(FleetSimError):
        sim.dispatcher.dispatch(LoadWorld(scenario={"swarm": swarm | {"subscribers": [*subscribers, {"type": "x"}]}}))
    assert listing(private) == before
    sim.dispatcher.dispatch(LoadWorld(scenario={"swarm": swarm | {"subscribers": subscribers}}))
    assert listing(private) == before, "the trial wrote nothing either"
    sim.step_once()
    sim.close()
    assert listing(private) != before


@pytest.mark.parametrize("mesh", ["way/canary.obj", "../canary.obj", "../../absent.obj", "way/canary.dae"])
def test_a_model_in_a_folder_for_models_leads_to_no_mesh_elsewhere(
    sim: fs.MultiRobotSimulationCore, private: Path, mesh: str
) -> None:
    """A message that names it gets no more than what is in the folder; the operator gets what the model says."""
    shape = f'<visual><geometry><mesh filename="{mesh}"/></geometry></visual>'
    (private / "models" / "leading.urdf").write_text(f'<robot name="r"><link name="base">{shape}</link></robot>')
    with audited(private) as audit:
        with pytest.raises(FleetSimError, match="there is no mesh"):
            sim.dispatcher.dispatch(Spawn(robots=({"name": "r", "urdf_path": "leading"},), remote=True))
        with pytest.raises(FleetSimError, match="there is no mesh"):
            load(sim, "{robots: [{name: r, urdf_path: leading}]}")
    assert not audit.read
    if mesh.endswith("canary.obj"):
        assert fs.load_robot_model(private / "models" / "leading.urdf").visuals


def test_a_spawn_beside_what_the_operator_made_of_files_elsewhere(private: Path) -> None:
    """What is his is drawn, measured and moved as before, whoever spawns beside it."""
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, monitor=False, physics=True)) as sim:
        shape = fs.ShapeParams("mesh", mesh_path=str(private / "canary.obj"))
        sim.spawn(fs.SimObjectSpawnParams(shape, shape, fs.Pose.from_xyz(0.0, 0.0, 1.0), name="own"))
        for number in range(2):
            sim.dispatcher.dispatch(Spawn(robots=({"name": f"r{number}", "pose": [0.2 * number, 0, 1]},), remote=True))
            sim.step_once()
        assert (sim.guard.total, len(sim.agents)) == (0, 2)


def test_the_operator_reads_and_writes_as_before(private: Path) -> None:
    path = private / "new.txt"
    files.write_file(path, "text")
    assert files.read_text(path) == "text"
    assert path in files.listed(private)
    assert "new.txt" in files.names_in(private, ".txt")
    files.remove(path)
    assert not files.exists(path)


def test_the_door_shows_the_folders_that_were_named_and_nothing_else(private: Path) -> None:
    (private / "models" / "a.urdf").write_text("x")
    with files.remote_input([private / "models"], output=private / "out"):
        assert files.listed(private / "models") == [private / "models" / "a.urdf"], "no link that leads out"
        assert files.read_text(private / "models" / "a.urdf") == "x"
        assert not files.listed(private) and not files.names_in(private / "models")
        for look in (files.is_file, files.exists):
            assert not look(private / "canary_key")
        for call in (files.read_bytes, files.status, files.to_read, files.opened):
            for name in ("canary_key", "absent", "models/way/canary_key", "models/../canary_key"):
                with pytest.raises(FileNotFoundError, match="No such file"):
                    call(private / name)
        with pytest.raises(fs.InvalidValueError, match="cannot be written"):
            files.write_file(private / "canary_key", "mine")
        with pytest.raises(fs.InvalidValueError, match="cannot be written"):
            files.remove(private / "canary_key")
        with pytest.raises(fs.InvalidValueError, match="cannot be written"):
            files.write_file(private / "models" / "a.urdf", "mine")
        files.write_file(private / "out" / "new.txt", "mine")
        with pytest.raises(fs.InvalidValueError, match="cannot be written"):
            files.write_file(private / "out" / "new.txt", "again")
    assert (private / "canary_key").read_text() == CONTENTS["canary_key"]


def test_the_audit_sees_what_is_opened_listed_and_written(private: Path) -> None:
    with audited(private) as audit:
        (private / "canary_key").read_text()
        os.listdir(private)
        (private / "new").write_text("x")
        os.remove(private / "new")
        (private / "models" / "way" / "canary.csv").read_bytes()
    assert audit.read == [str(private / "canary_key"), str(private), str(private / "canary.csv")]
    assert audit.written == [str(private / "new")] * 2


def audited(private: Path) -> AbstractContextManager[FileAudit]:
    """The audit of the private folder: the folders of models and for output in it may be touched."""
    return file_audit(private / "models", may_write=(private / "out",), within=private)


def listing(folder: Path) -> dict[str, bytes]:
    """Everything below a folder with its content; links are not followed."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
