"""A `.building.yaml` is a whole scenario: levels, doors, lifts, work cells and robots, by the names in the file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import fleet_sim as fs
from fleet_sim.warehouse.equipment import DoorHandle, LiftHandle, ServeRobot
from fleet_sim.warehouse.rmf import Slotcars
from fleet_sim.warehouse.sites import Building, Grid, Site, read_building
from fleet_sim.warehouse.sites.rmf_format import projection
from fleet_sim.warehouse.sites.site import Door, Level, LevelGraph, LiftShaft, ShaftDoor

Sim = fs.MultiRobotSimulationCore
FILE = Path(__file__).parents[3] / "config" / "sites" / "maps" / "two_floors.building.yaml"
QUIET = {"gui": False, "monitor": False, "target_rtf": 0}


@pytest.fixture(scope="module")
def sim() -> Iterator[Sim]:
    """Return the shipped building."""
    made = Sim.from_dict({"simulation": {**QUIET, "timestep": 0.05}, "building": str(FILE)})
    yield made
    made.close()


def test_all_that_the_file_names_is_there(sim: Sim) -> None:
    building: Building = sim.get_manager("building")
    assert [(level.name, level.elevation) for level in building.levels] == [("L1", 0.0), ("L2", 4.0)]
    for name in ("lobby_door", "ward_door", "Lift1", "porter_1", "porter_2", "pantry_dispenser", "parcel"):
        assert sim.get_object(name).is_alive
    assert DoorHandle.of(sim.get_object("ward_door")).mode == "closed"
    assert sim.get_object("ward_door").get_pose().position[2] == pytest.approx(5.1)
    assert LiftHandle.of(sim.get_object("Lift1")).floors == ("L1", "L2")
    sim.step_once()
    slotcars: Slotcars = sim.features.use("slotcar")
    assert slotcars.level_names(slotcars.rows) == ["L1", "L1"] and len(slotcars.chargers) == 2
    assert sim.get_object("porter_1").feature("battery").is_charging


def test_a_parcel_goes_from_a_dispenser_to_an_ingestor_and_back(sim: Sim) -> None:
    told: list[tuple[str, bool]] = []
    sim.events.on("robot_served", lambda cell, request, success, reason: told.append((request, success)))
    parcel, porter = sim.get_object("parcel"), sim.get_object("porter_1")
    begin = parcel.get_pose().position

    def ask(cell: str, request: str, *robots: str) -> dict[str, str]:
        answer = sim.inbox.put(ServeRobot(cell=cell, request=request, robots=robots))
        sim.step_once()
        return dict(answer.result().rejected)

    assert "no robot" in ask("pantry_dispenser", "a")["pantry_dispenser"]
    assert ask("pantry_dispenser", "b", "porter_1", "unknown") == {} and parcel.attached_to is porter
    assert "nothing to dispense" in ask("pantry_dispenser", "c", "porter_1")["pantry_dispenser"]
    assert ask("ward_ingestor", "d", "porter_1") == {} and parcel.attached_to is None
    # Known requests are answered as before, and nothing else happens.
    assert (
        ask("ward_ingestor", "d", "porter_1") == {}
        and "no robot" in ask("pantry_dispenser", "a", "porter_1").popitem()[1]
    )
    assert "no work cell" in ask("porter_1", "e", "porter_1")["porter_1"]
    assert told == [("a", False), ("b", True), ("c", False), ("d", True), ("d", True), ("a", False)]
    assert parcel.get_pose().position != begin
    for _ in range(120):
        sim.step_once()
    assert parcel.get_pose().position == begin
    assert ask("pantry_dispenser", "f", "porter_1") == {}


def test_the_content_of_such_a_file_is_a_scenario(tmp_path: Path) -> None:
    content: dict[str, Any] = yaml.safe_load(FILE.read_text())
    with Sim.from_dict({**content}) as made:
        assert made.get_object("porter_2").is_alive and made.params.timestep == 0.05
    for change, where in (
        ({"lifts": {"Lift1": {**content["lifts"]["Lift1"], "level_doors": {"L9": ["front"]}}}}, "no level 'L9'"),
        ({"lifts": {"Lift1": {**content["lifts"]["Lift1"], "width": "wide"}}}, "lifts.Lift1.width"),
        ({"coordinate_system": "wgs84"}, "generate_crs"),
        ({"coordinate_system": "moon"}, "coordinate_system"),
    ):
        with pytest.raises(fs.ConfigError, match=where):
            Sim.from_dict({**content, **change})
    with pytest.raises(fs.ConfigError, match="one of map and content"):
        Sim.from_dict({"simulation": QUIET, "building": {"wall_height": 2.0}})


def test_a_campus_in_degrees_becomes_metres(tmp_path: Path) -> None:
    path = tmp_path / "campus.building.yaml"
    levels = {
        "L1": {
            "vertices": [
                [103.7813212199047, 1.299961718639117, 0, "room"],
                [103.7813, 1.3, 0, "road", {"spawn_robot_name": [1, "bot"], "spawn_robot_type": [1, "TinyRobot"]}],
            ],
            "lanes": [[0, 1, {"graph_idx": [2, 0]}]],
        }
    }
    crs = {"generate_crs": [1, "EPSG:3414"], "suggested_offset_x": [3, 22000], "suggested_offset_y": [3, 31500]}
    content = {"coordinate_system": "wgs84", "parameters": crs, "levels": levels}
    path.write_text(yaml.safe_dump(content))
    building = read_building(path)
    # As PROJ computes it.
    assert building.levels[0].graphs[0].positions[0] == pytest.approx((213.159441, -131.259826), abs=1e-5)
    assert building.levels[0].site.roadmap is not None and building.robots[0].name == "bot"
    for change, where in (
        ({"parameters": {"generate_crs": [1, "EPSG:9"]}}, "generate_crs"),
        ({"parameters": {**crs, "suggested_offset_x": [1, "far"]}}, "suggested_offset_x"),
        ({"parameters": {**crs, "generate_crs": [1, "EPSG:32601"]}}, "within 10 degrees"),
    ):
        path.write_text(yaml.safe_dump({**content, **change}))
        with pytest.raises(fs.ConfigError, match=where):
            read_building(path)


@pytest.mark.parametrize(
    ("name", "degrees", "metres"),
    [
        ("EPSG:32632", (11.575, 48.137), (691567.326384, 5334734.330482)),
        ("EPSG:32756", (151.2153, -33.8568), (334900.569652, 6252288.752889)),
    ],
)
def test_projections_agree_with_those_of_others(
    name: str, degrees: tuple[float, float], metres: tuple[float, float]
) -> None:
    assert projection(name).to_metres(np.array([degrees]))[0] == pytest.approx(metres, abs=1e-3)


def test_doors_of_lifts_and_levels_are_from_end_to_end_in_the_frame_of_the_building() -> None:
    """A cabin that is turned, whose door is neither in its middle nor along its side; a leaf that turns to the left."""
    pytest.importorskip("rmf_building_map_msgs")
    from fleet_sim.warehouse.rmf.topics import building_map

    leaf = ShaftDoor("front", 0.4, -1.1, 0.9, 0.3, 2)
    shaft = LiftShaft("lift", 7.3, -2.6, 0.8, 1.7, 2.3, (leaf,), {"L1": ("front",)}, "L1")
    gate = Door("gate", "hinged", (1.2, 0.4), (1.9, 1.3), degrees=70.0, direction=1)
    site = Site("hall", Grid(np.ones((3, 3), bool), 1.0), doors=(gate,))
    walls = LevelGraph("walls", np.empty((0, 2)), (), (), ())
    message = building_map(Building("house", (Level("L1", 3.2, site, (), walls),), (shaft,)))
    (lift,), (level,) = message.lifts, message.levels
    assert (lift.ref_x, lift.ref_y, lift.ref_yaw, lift.width, lift.depth) == pytest.approx((7.3, -2.6, 0.8, 1.7, 2.3))
    (told,) = lift.doors
    for x, y, side in ((told.v1_x, told.v1_y, -0.45), (told.v2_x, told.v2_y, 0.45)):
        end = 7.3 - 2.6j + np.exp(0.8j) * (0.4 - 1.1j + side * np.exp(0.3j))
        assert (x, y) == pytest.approx((end.real, end.imag))
    (told,) = level.doors
    assert (told.v1_x, told.v1_y, told.v2_x, told.v2_y, level.elevation) == pytest.approx((1.2, 0.4, 1.9, 1.3, 3.2))
    # To the right counts as positive there.
    assert (told.motion_range, told.motion_direction) == (pytest.approx(math.radians(70.0)), -1)
