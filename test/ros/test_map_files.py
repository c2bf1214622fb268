"""Maps that clients of Nav2 may load: those of the walls that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

import fleet_sim as fs
from fleet_sim.warehouse.sites import Grid, read_site, write_map, write_site
from fleet_sim.warehouse.sites.site import Site

srv = pytest.importorskip("nav2_msgs.srv")

from fleet_sim.warehouse.nav2.maps import problem_with_map  # noqa: E402

MISSING = srv.LoadMap.Response.RESULT_MAP_DOES_NOT_EXIST
BROKEN = srv.LoadMap.Response.RESULT_INVALID_MAP_DATA
OTHER = srv.LoadMap.Response.RESULT_UNDEFINED_FAILURE


@pytest.fixture
def sim(tmp_path: Path) -> fs.MultiRobotSimulationCore:
    free = read_site("sites/maps/two_floors.building.yaml", level="L1").grid
    models = tmp_path / "models"
    models.mkdir()
    write_site(Site("hall", free), tmp_path / "hall.yaml")
    write_map(free, models / "same.yaml")
    write_map(Grid(~free.free_mask, free.cell, free.origin), models / "other.yaml")
    write_map(Grid(free.free_mask, free.cell, (1.0, 0.0, 0.0)), models / "moved.yaml")
    (models / "broken.yaml").write_text("image: none.pgm\nresolution: 0.1\norigin: [0, 0, 0]\n")
    scenario = {"simulation": {"gui": False, "model_paths": [str(models)]}, "site": str(tmp_path / "hall.yaml")}
    return fs.MultiRobotSimulationCore.from_dict(scenario)


def test_maps_of_the_same_walls_can_be_loaded(sim: fs.MultiRobotSimulationCore, tmp_path: Path) -> None:
    for url in (tmp_path / "hall.yaml", (tmp_path / "hall.yaml").as_uri(), tmp_path / "models" / "same.yaml"):
        assert problem_with_map(sim, str(url)) is None


def test_a_map_of_a_storey_can_be_loaded(tmp_path: Path) -> None:
    building = "sites/maps/two_floors.building.yaml"
    write_map(read_site(building, level="L2").grid, tmp_path / "upstairs.yaml")
    scenario = {"simulation": {"gui": False, "model_paths": [str(tmp_path)]}, "building": {"map": building}}
    with fs.MultiRobotSimulationCore.from_dict(scenario) as house:
        assert problem_with_map(house, str(tmp_path / "upstairs.yaml")) is None
        assert problem_with_map(house, building) is None


def test_other_maps_are_refused_with_the_code_of_nav2(sim: fs.MultiRobotSimulationCore, tmp_path: Path) -> None:
    models = tmp_path / "models"
    for url, code, reason in (
        ("", MISSING, "expected a path"),
        ("package://maps/floor.yaml", MISSING, "expected a path"),
        (str(models / "none.yaml"), MISSING, "no file"),
        ("no_such_map.yaml", MISSING, "no_such_map"),
        (str(models / "broken.yaml"), BROKEN, "none.pgm"),
        (str(models / "other.yaml"), OTHER, "load another world"),
        (str(models / "moved.yaml"), OTHER, "load another world"),
        # Not told whether it is there.
        ("/etc/passwd", OTHER, "not in a folder of models"),
        (str(tmp_path / "none.yaml"), OTHER, "not in a folder of models"),
    ):
        problem = problem_with_map(sim, url)
        assert problem is not None and problem.code == code and reason in problem.reason, (url, problem)


def test_a_world_without_walls_of_a_file_has_no_map_to_load(tmp_path: Path) -> None:
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False)) as sim:
        problem = problem_with_map(sim, "sites/maps/two_floors.building.yaml")
        assert problem is not None and problem.code in (OTHER, BROKEN)
