"""Sites in scenarios: their walls are met by robots and lidars, and robots start at their places."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import fleet_sim as fs
from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import Grid, Site, SortationFloor, Warehouse, Zone, ZoneKind, read_site, write_site

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


# ---- Robots and objects of a scenario at the places of its site ------------------------------------------------------


HALL = """\
site: hall
rows: |
  @@@@@@
  @....@
  @....@
  @@@@@@
stations:
  - {name: left, kind: charge, at: [1.5, 1.5, 1.5]}
  - {name: right, kind: charge, at: [3.5, 1.5]}
"""
BOX = {"shape": {"shape_type": "box", "half_extents": [0.2, 0.2, 0.2]}}


@pytest.fixture
def hall(tmp_path: Path) -> Path:
    """A hall with two chargers and no starts."""
    path = tmp_path / "hall.yaml"
    path.write_text(HALL)
    return path


def run(hall: Path, **sections: Any) -> fs.MultiRobotSimulationCore:
    simulation = {"gui": False, "monitor": False}
    return fs.MultiRobotSimulationCore.from_dict({"simulation": simulation, "site": str(hall), **sections})


def at(name: str, site: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "at": {"site": site, **more}, **BOX}


def test_robots_start_at_stations_with_their_headings(hall: Path) -> None:
    sim = run(hall, robots=[at("cart", "charge", count=2)])
    poses = [robot.get_pose() for robot in sim.agents]
    assert [pose.position for pose in poses] == [(1.5, 1.5, 0.0), (3.5, 1.5, 0.0)]
    assert [pose.yaw for pose in poses] == pytest.approx([1.5, 0.0])
    sim.close()


@pytest.mark.parametrize("site", ["drop", "starts"])
def test_places_that_a_site_does_not_have_are_refused(hall: Path, site: str) -> None:
    with pytest.raises(fs.ConfigError, match=f"no (station of the kind 'drop'|{site})"):
        run(hall, robots=[at("cart", site)])


def test_no_robot_starts_where_another_one_stands(hall: Path) -> None:
    with pytest.raises(fs.ConfigError, match=r"robots\[1\].at: .*a robot stands at \(1.5, 1.5\) already"):
        run(hall, robots=[at("first", "charge"), at("second", "left")])


def test_free_cells_are_those_where_nothing_stands(hall: Path) -> None:
    sim = run(hall, robots=[at("cart", "free", count=2)], objects=[at("a", "free", count=3), at("b", "free", count=3)])
    places = [handle.get_pose().position for handle in sim.sim_objects if "wall" not in handle.name]
    assert len(places) == len(set(places)) == 8
    sim.close()


def test_what_stands_elsewhere_changes_no_free_cells(hall: Path) -> None:
    def places(seed: int, *others: dict[str, Any]) -> list[Any]:
        with run(hall, objects=[*others, at("cart", "free", count=3, seed=seed)]) as sim:
            return [sim.get_object(f"cart_{index}").get_pose().position for index in range(3)]

    alone = places(0)
    assert places(1) != alone
    cells = [(x + 0.5, y + 0.5) for x in range(1, 5) for y in range(1, 3)]
    x, y = next(cell for cell in cells if (*cell, 0.0) not in alone)
    assert places(0, {"name": "box", "pose": [x, y, 0.0], **BOX}) == alone


@pytest.mark.parametrize("what", ["seed", "clearance"])
def test_settings_of_free_cells_are_refused_elsewhere(hall: Path, what: str) -> None:
    with pytest.raises(fs.ConfigError, match=f"{what}: it is for free cells"):
        run(hall, robots=[at("cart", "charge", **{what: 1})])


def test_what_a_site_cannot_use_is_refused(hall: Path) -> None:
    for line, message in (
        ("origin: [1, 2, 0, 9]", r"origin: must be \[x, y\] or \[x, y, yaw\]"),
        (
            "zones: [{name: z, kind: no_go, corners: [[1, 1], [2, 1], [2, 2]], direction: 1}]",
            "only a zone of the kind one_way has a direction",
        ),
    ):
        hall.write_text(HALL + line + "\n")
        with pytest.raises(fs.ConfigError, match=message):
            read_site(hall)
    hall.write_text(HALL + "origin: [0.5, 0.25]\n")
    np.testing.assert_allclose(read_site(hall).grid.origin, (0.5, 0.25, 0.0))


# ---- Zones with a speed limit: every robot that drives keeps it, however it is driven --------------------------------


SLOW, FAST = 0.5, 2.0
SITE = """
site: hall
cell: 1.0
origin: [0.0, 0.0, 0.0]
rows: |
  ........................
  ........................
  ........................
  ........................
zones:
- {name: yard, kind: speed_limit, corners: [[9, -1], [13, -1], [13, 5], [9, 5]], speed: 0.5}
"""


@pytest.fixture
def hall_speed_zones(tmp_path: Path) -> Any:
    def make(mode: str, lanes: dict[str, float]) -> MultiRobotSimulationCore:
        (tmp_path / "hall.yaml").write_text(SITE)
        robots = [
            {"name": name, "pose": [1.0, y, 0.0], "motion_mode": mode, "max_linear_vel": FAST, "max_linear_accel": 2.0}
            for name, y in lanes.items()
        ]
        scenario = {
            "simulation": {"gui": False, "timestep": 0.05, "target_rtf": 0},
            "site": {"map": str(tmp_path / "hall.yaml")},
            "robots": robots,
        }
        return MultiRobotSimulationCore.from_dict(scenario)

    return make


@pytest.mark.parametrize("mode", ["differential", "omnidirectional", "ackermann"])
def test_limits_hold_for_goals_and_commands_and_leave_no_trace(hall_speed_zones: Any, mode: str) -> None:
    sim = hall_speed_zones(mode, {"goal": 0.5, "command": 2.0})
    goal, command = sim.get_object("goal"), sim.get_object("command")
    goal.set_goal_pose(Pose((20.0, 0.5, 0.0)))
    command.set_velocity(vx=FAST)
    rows = [goal.row, command.row]
    own = sim.world.motion.linear_limit[rows].copy()
    places, speeds = [], []
    for _ in range(400):
        sim.step_once()
        places.append(sim.world.position[rows, 0])
        speeds.append(np.hypot(*sim.world.velocity[rows, :2].T))
        if not sim.world.motion.control[goal.row] and sim.world.position[command.row, 0] > 18.0:
            break
    at, fast = np.array(places), np.array(speeds)
    inside = (at > 9.0) & (at < 13.0)
    assert fast[inside].max() == pytest.approx(SLOW) and inside.any(axis=0).all()
    # It brakes no earlier than it has to, and speeds up again behind.
    assert (fast.max(axis=0) == FAST).all() and (fast[(at > 7.0) & (at < 7.5)] > 1.7).all()
    assert fast[(at > 16.0) & (at < 17.0)].min() > 1.9
    assert goal.is_goal_reached() and goal.get_pose().position[0] == 20.0
    assert (sim.world.motion.linear_limit[rows] == own).all()


def test_robots_brake_for_a_skew_zone_as_late_as_they_may_wherever_they_come_from(tmp_path: Path) -> None:
    corners, accel, dt = [(4.2, 1.1), (7.9, 0.4), (9.1, 3.7), (6.3, 5.2), (3.8, 3.9)], 1.5, 0.05
    zone = Zone("yard", ZoneKind.SPEED_LIMIT, np.array(corners), speed=SLOW)
    write_site(Site("hall", Grid(np.ones((24, 40), bool), 0.5, (-4.0, -3.0, 0.0)), zones=(zone,)), tmp_path / "h.yaml")
    area = np.array(corners) @ [1, 1j]

    def way_to_zone(place: complex, heading: complex) -> float:
        """How far ahead of a place the first side is; 0 on the left of all."""
        sides, offsets = np.roll(area, -1) - area, area - place
        if (np.imag(np.conj(sides) * -offsets) > 0.0).all():
            return 0.0
        across = np.imag(np.conj(sides) * heading)
        ahead, share = np.imag(np.conj(sides) * offsets) / across, np.imag(np.conj(heading) * offsets) / across
        return float(min(ahead[(ahead >= 0.0) & (share >= 0.0) & (share <= 1.0)], default=np.inf))

    with MultiRobotSimulationCore.from_dict(
        {"simulation": {"gui": False, "timestep": dt, "target_rtf": 0}, "site": str(tmp_path / "h.yaml")}
    ) as sim:
        robots = []
        for number in range(9):
            start = 6.3 + 2.6j + 5.5 * np.exp(0.9j * number)
            yaw = float(np.angle(6.3 + 2.6j - start)) + 0.25 * (number % 7 - 3)
            pose = Pose.from_yaw(start.real, start.imag, 0.0, yaw)
            spawn = AgentSpawnParams(
                initial_pose=pose, motion_mode="differential", max_linear_vel=FAST, max_linear_accel=accel
            )
            robots.append(sim.spawn(spawn))
            robots[-1].set_velocity(vx=FAST)
        top, slowed, free = np.zeros(9), 0, 0
        for _ in range(90):
            sim.step_once()
            for number, robot in enumerate(robots):
                speed, heading = abs(complex(*robot.velocity[:2])), np.exp(1j * robot.get_pose().yaw)
                left = way_to_zone(complex(*robot.position[:2]), heading)
                assert speed <= np.sqrt(SLOW**2 + 2.0 * accel * left) + 1e-9
                # It speeds up to what it may drive, and loses a step of its way.
                least = np.sqrt(SLOW**2 + 2.0 * accel * max(left - 2.0 * FAST * dt, 0.0))
                assert speed >= min(top[number] + 0.99 * accel * dt, FAST, least) - 1e-9
                slowed, free = slowed + (left == 0.0), free + (left == np.inf and speed > FAST - 1e-9)
                top[number] = speed
        assert slowed > 100 and free > 100


def test_a_cleared_site_limits_nobody(hall_speed_zones: Any) -> None:
    sim = hall_speed_zones("differential", {"robot": 0.5})
    sim.clear()
    robot = sim.spawn(AgentSpawnParams(name="robot", initial_pose=Pose((10.0, 0.5, 0.0)), max_linear_vel=FAST))
    robot.set_velocity(vx=FAST)
    for _ in range(20):
        sim.step_once()
    assert robot.get_pose().x < 13.0 and sim.world.velocity[robot.row, 0] == FAST
