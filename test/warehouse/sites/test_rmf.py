"""Buildings of Open-RMF: drawings become metres, walls become boxes and blocked cells, lanes a roadmap."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.sites import StationKind, read_site


def level(**more: Any) -> dict[str, Any]:
    """Return a room of 200 x 100 pixels, of 10 x 5 m, with a wall from top to bottom that leaves a gap below."""
    return {
        "vertices": [
            [0, 0, 0, ""], [200, 0, 0, ""], [200, 100, 0, ""], [0, 100, 0, ""],
            [100, 0, 0, ""], [100, 60, 0, ""],
            [20, 80, 0, "home", {"is_charger": [4, True]}], [180, 80, 0, "lounge", {"is_parking_spot": [4, True]}],
            [180, 20, 0, "kitchen", {"pickup_dispenser": [1, "coke"], "is_charger": [4, False]}],
        ],
        "measurements": [[0, 1, {"distance": [3, 10.0]}]],
        "floors": [{"vertices": [0, 1, 2, 3], "parameters": {}}],
        "walls": [[4, 5, {}]],
        "doors": [[5, 4, {"name": [1, "front"], "type": [1, "hinged"]}]],
        "lanes": [
            [6, 7, {"bidirectional": [4, True], "speed_limit": [3, 0.8]}],
            [7, 8, {"bidirectional": [4, False], "speed_limit": [3, 0]}],
        ],
        **more,
    }  # fmt: skip


def building(folder: Path, content: Any) -> Path:
    """Write a building; returns its file."""
    path = folder / "house.building.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_building_in_metres(tmp_path: Path) -> None:
    site = read_site(building(tmp_path, {"levels": {"L1": level()}}))
    assert site.name == "house"
    # Drawings have y down.
    assert (site.station("home").x, site.station("home").y) == pytest.approx((1.0, -4.0))
    assert [station.kind for station in site.stations] == [StationKind.CHARGE, StationKind.PARK, StationKind.PICK]
    np.testing.assert_allclose(site.boxes(), [(5.0, -1.5, -np.pi / 2, 1.55, 0.05)])
    inside = np.array([(4.5, -1.0), (5.5, -1.0), (5.0, -4.5), (5.0, -1.0), (-0.5, -1.0)])
    assert site.grid.is_free(site.grid.cells_at(inside)).tolist() == [True, True, True, False, False]
    assert site.grid.regions().max() == 0
    assert [door.name for door in site.doors] == ["front"]


def test_lanes_are_a_roadmap_of_what_they_join(tmp_path: Path) -> None:
    roadmap = read_site(building(tmp_path, {"levels": {"L1": level()}})).roadmap
    assert roadmap is not None
    assert roadmap.names == ("home", "lounge", "kitchen")
    assert roadmap.lanes.tolist() == [[0, 1], [1, 0], [1, 2]]
    assert roadmap.speed_limits.tolist() == [0.8, 0.8, np.inf]
    assert roadmap.lengths.tolist() == pytest.approx([8.0, 8.0, 3.0])


def test_one_level_of_several_is_read(tmp_path: Path) -> None:
    # The upper floor is drawn at twice the scale and turned by 90 degrees; fiducials say how it lies on the lower one.
    upper = level(measurements=[], fiducials=[[0, 400, "a"], [0, 0, "b"]])
    lower = level(fiducials=[[0, 0, "a"], [200, 0, "b"]])
    path = building(tmp_path, {"reference_level_name": "L1", "levels": {"L1": lower, "L2": upper}})
    with pytest.raises(ConfigError, match="it has the levels L1, L2; say which one to read"):
        read_site(path)
    with pytest.raises(ConfigError, match="there is no level 'L3'"):
        read_site(path, level="L3")
    # In the drawing 0, 400 is at (0, 0) m and 0, 0 at (10, 0) m: up is right there.
    home = read_site(path, level="L2").station("home")
    assert (home.x, home.y) == pytest.approx(((400 - 80) * 0.025, -20 * 0.025))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measurements": []}, "no measurements"),
        ({"measurements": [[0, 0, {"distance": [3, 1.0]}]]}, r"measurements\[0\]: must be between two places"),
        ({"measurements": [[0, 99, {}]]}, r"measurements\[0\]: must be \[vertex"),
        ({"walls": [[4, 99, {}]]}, r"walls\[0\]: there is no vertex 99"),
        ({"lanes": [[6, "a", {}]]}, r"lanes\[0\]: there is no vertex 'a'"),
        ({"lanes": [[6, 7, {"speed_limit": [3, -1.0]}]]}, r"lanes\[0\].speed_limit: must be above 0 m/s"),
        ({"vertices": [[0]]}, r"vertices\[0\]: must begin with x and y"),
        ({"floors": [], "walls": []}, "neither floors nor walls"),
    ],
)
def test_a_wrong_building_is_one_error(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_site(building(tmp_path, {"levels": {"L1": level(**change)}}))


def test_degrees_on_the_globe_need_a_projection(tmp_path: Path) -> None:
    path = building(tmp_path, {"coordinate_system": "wgs84", "levels": {"L1": level()}})
    with pytest.raises(ConfigError, match="generate_crs: known are EPSG:3414"):
        read_site(path)


def test_a_station_in_a_wall_is_left_out_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entry = level()
    entry["vertices"][6] = [100, 30, 0, "home", {"is_charger": [4, True]}]
    with caplog.at_level(logging.WARNING):
        site = read_site(building(tmp_path, {"levels": {"L1": entry}}))
    assert [station.name for station in site.stations] == ["lounge", "kitchen"]
    assert "'home' at (5.00, -1.50) is not on free space" in caplog.text


def test_a_navigation_graph(tmp_path: Path) -> None:
    path = tmp_path / "0.yaml"
    graph = {
        "vertices": [[1.0, 2.0, {"name": "dock", "is_charger": True}], [4.0, 2.0, {}]],
        "lanes": [[0, 1, {"speed_limit": 0.5}]],
    }
    path.write_text(yaml.safe_dump({"building_name": "house", "levels": {"L1": graph}}))
    site = read_site(path)
    assert site.name == "house"
    assert site.station("dock").kind is StationKind.CHARGE
    assert site.roadmap is not None and site.roadmap.lanes.tolist() == [[0, 1]]
    assert len(site.boxes()) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"floors": [[0, 1, 2]]}, r"levels.L1.floors\[0\]: must be a mapping with vertices, got \[0, 1, 2\]"),
        ({"floors": [{"vertices": [0, 1]}]}, r"floors\[0\].vertices: a floor has at least 3 corners, got 2"),
        ({"floors": 5}, "levels.L1.floors: must be a list, got 5"),
        ({"walls": {"a": 1}}, "levels.L1.walls: must be a list, got"),
        ({"lanes": "none"}, "levels.L1.lanes: must be a list, got 'none'"),
        ({"vertices": 5}, "levels.L1.vertices: must be a list, got 5"),
        ({"measurements": 5}, "levels.L1.measurements: must be a list, got 5"),
        ({"measurements": [[0, 1, {"distance": [3, 1e300]}]]}, "must be within 1e\\+09 m of its origin"),
    ],
)
def test_what_is_no_building_is_refused_with_its_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_site(building(tmp_path, {"levels": {"L1": level(**changes)}}))


@pytest.mark.parametrize(
    ("fiducials", "message"),
    [
        ([["x", 1, "a"], [2, 2, "b"]], r"levels.L2.fiducials\[0\]: must be \[x, y, name\]"),
        ([[1, 1, "a"], [1, 1, "b"]], "levels.L2.fiducials: those of 'L1' and this level are all at one place"),
    ],
)
def test_fiducials_that_lay_nothing_over_are_refused(tmp_path: Path, fiducials: list[Any], message: str) -> None:
    levels = {"L1": level(fiducials=[[0, 0, "a"], [9, 0, "b"]]), "L2": level(fiducials=fiducials)}
    with pytest.raises(ConfigError, match=message):
        read_site(building(tmp_path, {"reference_level_name": "L1", "levels": levels}), level="L2")
