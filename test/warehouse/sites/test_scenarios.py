"""Sites in scenarios: their walls are met by robots and lidars, and robots start at their places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import Site, SortationFloor, Warehouse, read_site, write_site

ROBOT = {"name": "amr", "urdf_path": "diff_base"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a warehouse."""
    write_site(Warehouse(rows=2, columns=1, shelf_length=4, workstations=2, chargers=2).site(), tmp_path / "hall.yaml")
    return tmp_path


def scenario(folder: Path, **sections: Any) -> Path:
    """Write a scenario on the warehouse; returns its file."""
    path = folder / "scenario.yaml"
    content = {"simulation": {"gui": False, "timestep": 0.1}, "site": "hall.yaml", **sections}
    path.write_text(yaml.safe_dump(content))
    return path


def test_robots_start_on_free_cells_stations_and_starts(folder: Path) -> None:
    robots = [
        {**ROBOT, "at": {"site": "free", "count": 12, "seed": 3}},
        {**ROBOT, "name": "packer", "at": {"site": "workstation"}},
        {**ROBOT, "name": "guard", "at": {"site": "charger_1"}},
    ]
    with fs.MultiRobotSimulationCore.from_yaml(scenario(folder, robots=robots)) as sim:
        site = sim.get_manager("site")
        assert isinstance(site, Site)
        places = np.array([robot.get_pose().position[:2] for robot in sim.agents])
        assert len(places) == 15
        cells = site.grid.cells_at(places)
        assert site.grid.is_free(cells).all() and len(set(cells.tolist())) == 15
        np.testing.assert_allclose(places, site.grid.positions(cells))
        names = [robot.name for robot in sim.agents]
        assert names[-3:] == ["packer_0", "packer_1", "guard"]
        station = site.station("charger_1")
        assert places[-1].tolist() == [station.x, station.y]
        again = places
    with fs.MultiRobotSimulationCore.from_yaml(scenario(folder, robots=robots)) as sim:
        assert (np.array([robot.get_pose().position[:2] for robot in sim.agents]) == again).all()


def test_free_cells_keep_clear_of_walls_and_of_robots(folder: Path) -> None:
    first = {**ROBOT, "name": "a", "at": {"site": "free", "count": 20}}
    second = {**ROBOT, "name": "b", "at": {"site": "free", "count": 20, "clearance": 0.9}}
    with fs.MultiRobotSimulationCore.from_yaml(scenario(folder, robots=[first, second])) as sim:
        site = sim.get_manager("site")
        cells = site.grid.cells_at(np.array([robot.get_pose().position[:2] for robot in sim.agents]))
        assert len(set(cells.tolist())) == 40
        assert site.grid.clear_of(0.9).is_free(cells[20:]).all()


def test_walls_stop_robots_and_are_seen_by_lidars(folder: Path) -> None:
    robot = {**ROBOT, "at": {"site": "shelf_0"}, "pose": [0, 0, 0, 1.5707963], "block_on_collision": True}
    with fs.MultiRobotSimulationCore.from_yaml(scenario(folder, robots=[robot])) as sim:
        (agent,) = sim.agents
        # The shelf is below the first row of stations.
        agent.set_pose(fs.Pose.from_yaw(*agent.get_pose().position, -1.5707963))
        lidar = sim.add_sensor("lidar", agent, rays=3, angle_min=-0.01, angle_max=0.01, pose=[0.0, 0.0, 0.3])
        sim.step_once()
        ahead = float(np.min(lidar.read().ranges))
        assert ahead == pytest.approx(0.5, abs=0.02)
        before = agent.get_pose().y
        agent.set_velocity(1.0, timeout=0)
        for _ in range(20):
            sim.step_once()
        assert before - 0.5 < agent.get_pose().y < before


@pytest.mark.parametrize(
    ("robot", "message"),
    [
        ({"at": {"site": "chargr"}}, r"robots\[0\].at: amr: unknown place of the site 'chargr'. Did you mean 'charge"),
        ({"at": {"site": "charge", "count": 3}}, "has 2 of 'charge', 3 are asked for"),
        ({"at": {"site": "free", "count": 500}}, "free cells where nothing stands, 500 are asked for"),
        ({"at": {"site": "starts"}, "pose": [1, 0, 0]}, "give one of pose, grid and at"),
        ({"at": {"site": "charge"}, "grid": {"count": 2}}, "give one of pose, grid and at"),
        ({"at": {"site": "charge", "clearance": 1.0}}, "clearance: it is for free cells"),
        ({"at": {"site": "starts", "count": 1}}, "has 0 starts, 1 are asked for"),
        ({"at": {"place": "free"}}, "unknown key"),
    ],
)
def test_wrong_places_are_one_error(folder: Path, robot: dict[str, Any], message: str) -> None:
    path = scenario(folder, robots=[{**ROBOT, **robot}])
    with pytest.raises(fs.ConfigError, match=message):
        fs.MultiRobotSimulationCore.from_yaml(path)
    assert main(["check", str(path)]) == 1


def test_places_need_a_site(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    path.write_text(yaml.safe_dump({"simulation": {"gui": False}, "robots": [{**ROBOT, "at": {"site": "free"}}]}))
    with pytest.raises(fs.ConfigError, match="needs the section 'site', which this scenario does not have"):
        fs.MultiRobotSimulationCore.from_yaml(path)


def test_a_wrong_site_is_named(folder: Path) -> None:
    path = scenario(folder, site={"map": "hll.yaml"})
    for command in ("check", "run"):
        assert main([command, str(path)] + ["--headless"] * (command == "run")) == 1
    with pytest.raises(fs.ConfigError, match=r"site: .*hll.yaml.*Did you mean 'hall.yaml'"):
        fs.MultiRobotSimulationCore.from_yaml(path)
    with pytest.raises(fs.ConfigError, match=r"site.wall_height: must be a number above 0"):
        fs.MultiRobotSimulationCore.from_yaml(scenario(folder, site={"map": "hall.yaml", "wall_height": 0}))


def test_a_large_map_costs_the_step_nothing(tmp_path: Path) -> None:
    floor = SortationFloor(rows=40, columns=60).site()
    assert floor.grid.count > 20_000
    write_site(floor, tmp_path / "hall.yaml")
    with fs.MultiRobotSimulationCore.from_yaml(scenario(tmp_path)) as sim:
        assert len(sim.sim_objects) == 2400
        sim.step_once()
        # Static bodies are put into the grid once.
        assert sim.step_once(return_profiling=True) is not None


def test_the_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hall, out, picture = folder / "hall.yaml", folder / "out.yaml", folder / "hall.png"
    assert main(["site", "show", str(hall), "--picture", str(picture)]) == 0
    said = capsys.readouterr().out
    assert "2 charge, 2 workstation" in said and "2 boxes" in said
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert main(["site", "convert", str(hall), str(out)]) == 0
    assert read_site(out).stations == read_site(hall).stations
    assert "not in it" not in capsys.readouterr().out
    assert main(["site", "convert", str(hall), str(folder / "map.yaml"), "--to", "map"]) == 0
    assert re.search(r"has only free space; not in it: \d+ stations\n", capsys.readouterr().out)
    assert main(["site", "generate", "sortation", str(out), "--rows", "3", "--columns", "4", "--chargers", "2"]) == 0
    assert len(read_site(out).stations_of("drop")) == 12
    assert main(["site", "generate", "warehouse", str(folder / "x.txt")]) == 1
    assert main(["site", "generate", "warehouse", str(out), "--rows", "1", "--workstations", "999"]) == 1
    assert "workstations: 500 do not fit beside each other" in capsys.readouterr().err


def test_with_clear_the_building_is_gone(folder: Path) -> None:
    with fs.MultiRobotSimulationCore.from_yaml(scenario(folder)) as sim:
        assert len(sim.sim_objects) > 0
        sim.clear()
        assert len(sim.sim_objects) == 0
        with pytest.raises(fs.ConfigError, match="needs the section 'site'"):
            sim.spawn_robots_from_config([{**ROBOT, "at": {"site": "free"}}])
        with pytest.raises(fs.FleetSimError):
            sim.get_manager("site")
        robot = sim.spawn(fs.AgentSpawnParams(urdf_path="diff_base", name="amr"))
        action = fs.MoveTo(fs.Pose((1, 0, 0)), route=True)
        robot.execute_action(action)
        sim.step_once()
        assert action.status == "failed"
        assert "there are no routes without a map" in action.error_message
