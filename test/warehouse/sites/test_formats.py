"""Sites from the files of others: what is read, and one clear error for what is wrong."""

from __future__ import annotations

import json
import logging
import math
import re
import shlex
import struct
import zlib
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from spoiled import spoiled

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.base.files import write_png
from fleet_sim.warehouse.sites import (
    FORMATS,
    Door,
    Grid,
    Roadmap,
    Site,
    SiteFormat,
    Station,
    StationKind,
    draw_site,
    read_site,
    write_lif,
    write_map,
    write_site,
)
from fleet_sim.warehouse.sites.drawing import STATION_COLORS
from fleet_sim.warehouse.sites.map_formats import read_tasks

MAP = "type octile\nheight 3\nwidth 4\nmap\n..@.\n.TS.\n....\n"


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    """Return a folder with a map of 4 x 3 cells."""
    (tmp_path / "small.map").write_text(MAP)
    return tmp_path


def refused(path: Path, message: str, **options: object) -> None:
    """Check that a file is refused with one error that names it."""
    with pytest.raises(ConfigError, match=message) as caught:
        read_site(path, **options)  # type: ignore[arg-type]
    assert path.name in str(caught.value)


# ---- MovingAI --------------------------------------------------------------------------------------------------------


def test_a_map_of_movingai(maps: Path) -> None:
    site = read_site(maps / "small.map")
    assert site.name == "small"
    assert site.grid.free_mask.astype(int).tolist() == [[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MAP.replace("height 3", "height 4"), "it says height 4, but has 3 rows"),
        (MAP.replace("height 3", "height 2"), "it says height 2, but has 3 rows"),
        (MAP.replace("width 4", "width 5"), "line 5: it has 4 letters, 5 are expected"),
        (MAP.replace("width 4", "width x"), "`width` must be a whole number above 0, got 'x'"),
        (MAP.replace("TS", "T?"), r"line 6, column 3: unknown letter '\?'"),
        (MAP.replace("map\n", ""), "line 4: expected"),
        ("type octile\n", "no line `map`"),
        (MAP.replace("width 4", "width 9999999").replace("height 3", "height 9999999"), "it says height 9999999"),
    ],
)
def test_a_wrong_map_is_one_error(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.map").write_text(text)
    refused(tmp_path / "bad.map", message)


def test_a_scenario_has_starts_and_goals(maps: Path) -> None:
    row = "0\tsmall.map\t4\t3\t{}\t{}\t{}\t{}\t3.5\n"
    scen = maps / "small-1.scen"
    scen.write_text("version 1\n" + row.format(0, 0, 3, 2) + row.format(3, 1, 0, 2))
    site = read_site(scen)
    assert site.starts.tolist() == [0, 7]
    assert site.goals.tolist() == [11, 8]
    scen.write_text(row.format(2, 0, 3, 2))
    refused(scen, "1 start cells are not free, the first in row 0, column 2")
    scen.write_text(row.format(4, 0, 3, 2))
    refused(scen, r"line 1: \(4, 0\) is outside of the map")
    scen.write_text(row.format(0, 0, 3, 2).replace("\t4\t3", "\t4\t4"))
    refused(scen, "line 1: it is for a map of 4 x 4, not 4 x 3")
    scen.write_text(row.format(0, 0, 3, 2).replace("small.map", "other.map"))
    refused(scen, "its map 'other.map' is neither beside it")


# ---- JSON ------------------------------------------------------------------------------------------------------------


def test_a_problem_of_the_league_of_robot_runners(maps: Path) -> None:
    (maps / "a.agents").write_text("# version\n3\n0\n1\n11\n")
    (maps / "a.tasks").write_text("2\n4,6\n11\n")
    problem = {"mapFile": "small.map", "agentFile": "a.agents", "teamSize": 2, "taskFile": "a.tasks"}
    path = maps / "problem.json"
    path.write_text(json.dumps(problem))
    site = read_site(path)
    assert site.starts.tolist() == [0, 1]
    assert [(station.name, station.kind) for station in site.stations] == [("S6", StationKind.PICK)]
    assert read_tasks(path, site.grid) == [[4, 6], [11]]
    for change, message in (
        ({"teamSize": 4}, "teamSize: must be a whole number from 1 to 3"),
        ({"teamSize": True}, "teamSize: must be a whole number"),
        ({"agentFile": "b.agents"}, "agentFile: there is no file"),
        ({"mapFile": 3}, "mapFile: must be text, got 3"),
    ):
        path.write_text(json.dumps({**problem, **change}))
        refused(path, message)
    path.write_text(json.dumps(problem))
    (maps / "a.tasks").write_text("1\n2\n")
    with pytest.raises(ConfigError, match="task 0: it goes to a cell that is not free"):
        read_tasks(path, site.grid)
    for text, message in (
        ("2\n4\n", "it says 2 rows, but has 1"),
        ("1\n12\n", "cell 12 is outside"),
        ("1\n-1\n", "line 2: expected cells"),
    ):
        (maps / "a.tasks").write_text(text)
        with pytest.raises(ConfigError, match=message):
            read_tasks(path, site.grid)


def test_a_layout_of_lsmart(tmp_path: Path) -> None:
    path = tmp_path / "kiva.json"
    layout = {"name": "kiva", "n_row": 3, "n_col": 5, "layout": [".eee.", "w@@@w", ".eee."]}
    path.write_text(json.dumps(layout))
    site = read_site(path)
    assert site.name == "kiva"
    assert [len(site.stations_of(kind)) for kind in ("pick", "workstation")] == [6, 2]
    assert len(site.boxes()) == 1
    path.write_text(json.dumps({**layout, "n_col": 6}))
    refused(path, "n_col: is 6, but the layout has 5")
    path.write_text(json.dumps({"layout": [".e", "w"]}))
    refused(path, "line 2: it has 1 letters, 2 are expected")
    path.write_text("[" * 100_000)
    refused(path, "is not valid JSON")
    path.write_text("{}")
    refused(
        path,
        "is not a site; a file that ends in '.json' can be: LSMART map, LIF layout, League of Robot Runners problem",
    )


# ---- map_server ------------------------------------------------------------------------------------------------------


def map_server(folder: Path, **settings: object) -> Path:
    """Write a map of map_server; returns its file."""
    path = folder / "hall.yaml"
    content = {"image": "hall.pgm", "resolution": 0.5, "origin": [1.0, 2.0, 0.0], "negate": 0}
    path.write_text(yaml.safe_dump({**content, "occupied_thresh": 0.65, "free_thresh": 0.196, **settings}))
    return path


def test_a_map_of_map_server(tmp_path: Path) -> None:
    # White, nearly white, unknown, black.
    (tmp_path / "hall.pgm").write_bytes(b"P5\n# made by hand\n4 1\n255\n" + bytes([255, 210, 205, 0]))
    site = read_site(map_server(tmp_path))
    assert site.grid.free_mask.tolist() == [[True, True, False, False]]
    np.testing.assert_allclose(site.grid.positions(np.array([0])), [(1.25, 2.25)])
    negated = read_site(map_server(tmp_path, negate=1))
    assert negated.grid.free_mask.tolist() == [[False, False, False, True]]
    turned = read_site(map_server(tmp_path, origin=[0.0, 0.0, math.pi / 2]))
    np.testing.assert_allclose(turned.grid.positions(np.array([0])), [(-0.25, 0.25)], atol=1e-12)
    (tmp_path / "hall.pgm").write_bytes(b"P2 4 1 100 0 20 30 100")
    raw = read_site(map_server(tmp_path, mode="raw"))
    # Raw pixels are occupancies, and 255 levels are made of 100: 0 and 51 and 76 and 255.
    assert raw.grid.free_mask.tolist() == [[True, False, False, False]]


@pytest.mark.parametrize(("free_thresh", "free"), [(0.196, 1), (0.25, 2)])
def test_unknown_cells_that_a_threshold_makes_free_are_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, free_thresh: float, free: int
) -> None:
    (tmp_path / "hall.pgm").write_bytes(b"P5 3 1 255 " + bytes([254, 205, 0]))
    site = read_site(map_server(tmp_path, free_thresh=free_thresh))
    assert len(site.grid.free_cells) == free
    warned = "1 cells have the gray that stands for unknown (205), but free_thresh 0.25 makes them free" in caplog.text
    assert warned == (free == 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image": "gone.pgm"}, "image: there is no file"),
        ({"resolution": 0.0}, "resolution: must be a number above 0"),
        ({"origin": [1.0]}, r"origin: must be \[x, y, yaw\], got \[1.0\]"),
        ({"free_thresh": 0.7}, "free_thresh: must be below occupied_thresh"),
        ({"mode": "trinery"}, "mode: must be one of"),
        ({"negate": 2}, "negate: must be true or false"),
        ({"imge": 1}, "imge: unknown key. Did you mean 'image'"),
    ],
)
def test_a_wrong_map_of_map_server_is_one_error(tmp_path: Path, settings: dict[str, object], message: str) -> None:
    (tmp_path / "hall.pgm").write_bytes(b"P5 1 1 255 " + bytes([255]))
    refused(map_server(tmp_path, **settings), message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P5 4 4 255 xx", "cut off: 2 of 16"),
        (b"P5 4", "no readable PGM"),
        (b"P5 99999 99999 255 x", "is expected, got"),
    ],
)
def test_a_broken_picture_is_one_error(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "hall.pgm").write_bytes(data)
    map_server(tmp_path)
    with pytest.raises(ConfigError, match=message):
        read_site(tmp_path / "hall.yaml")


def test_pictures_with_colors_and_opacity(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    write_png(tmp_path / "hall.png", np.array([[[255, 255, 255], [0, 0, 0], [250, 240, 255]]], np.uint8))
    site = read_site(map_server(tmp_path, image="hall.png"))
    assert site.grid.free_mask.tolist() == [[True, False, True]]
    (tmp_path / "hall.png").write_bytes(b"no picture")
    refused_picture = map_server(tmp_path, image="hall.png")
    with pytest.raises(ConfigError, match="the image cannot be read"):
        read_site(refused_picture)


def test_a_map_is_written_as_it_is_read(tmp_path: Path, maps: Path) -> None:
    pytest.importorskip("PIL")
    grid = read_site(maps / "small.map").grid
    write_map(grid, tmp_path / "out.yaml")
    again = read_site(tmp_path / "out.yaml").grid
    assert (again.free_mask == grid.free_mask).all()
    assert (again.cell, again.origin) == (grid.cell, grid.origin)


@pytest.mark.parametrize("size", [6_000, 16_000, 60_000])
def test_a_picture_that_is_far_larger_than_its_file_is_refused(tmp_path: Path, size: int) -> None:
    file = map_server(tmp_path)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    picture = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    (tmp_path / "hall.pgm").write_bytes(b"\x89PNG\r\n\x1a\n" + picture)
    with pytest.raises(ConfigError, match=r"too many|exceeds limit"):
        read_site(file)


def test_unknown_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "hall.txt").write_text("")
    refused(tmp_path / "hall.txt", "sites are read from files that end in .dxf, .json, .map, .scen, .yaml, .yml")
    (tmp_path / "demo.yaml").write_text("simulation: {}\n")
    refused(tmp_path / "demo.yaml", "is not a site; a file that ends in '.yaml' can be: .*Open-RMF building")
    (tmp_path / "small.map").write_text(MAP)
    refused(tmp_path / "small.map", "it has no levels, 'L1' is asked for", level="L1")
    refused(tmp_path / "small.map", r"cell: cells may be a whole number of times 1 m long, got 1.5 m", cell=1.5)


@pytest.mark.parametrize("level", [b"00000300", b"256", b"-1", b"9" * 5000])
def test_a_grey_level_beyond_the_largest_is_refused(tmp_path: Path, level: bytes) -> None:
    file = map_server(tmp_path)
    (tmp_path / "hall.pgm").write_bytes(b"P2 4 1 255 0 20 30 " + level)
    with pytest.raises(ConfigError, match="it has 4 pixels, 4 are expected"):
        read_site(file)


# ---- Sites in fleet_sim's own format: what is written is what is read ------------------------------------------------


OWN = """
site: hall
cell: 0.5
origin: [1.0, 2.0, 0.0]
rows: |
  ....
  .@@.
stations:
- {name: dock, kind: charge, at: [1.2, 2.2, 1.5]}
zones:
- {name: slow, kind: speed_limit, corners: [[1, 2], [2, 2], [2, 3]], speed: 0.4}
- {name: shut, kind: no_go, corners: [[2.5, 2], [3, 2], [3, 3], [2.5, 3]]}
doors:
- {name: gate, kind: hinged, begin: [1, 2], end: [1, 3]}
roadmap:
  nodes:
  - {name: a, at: [1.2, 2.8]}
  - {at: [2.8, 2.8]}
  lanes:
  - {begin: a, end: 1, both_ways: true, speed_limit: 1.5}
starts: [[1.2, 2.8], [2.8, 2.8]]
goals: [[2.8, 2.2], [1.2, 2.2]]
elsewhere: {attic: L2}
"""


def test_our_own_format_keeps_everything(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(OWN)
    site = read_site(tmp_path / "hall.yaml")
    assert site.station("dock").yaw == 1.5
    assert site.open_grid.free_cells.tolist() == [0, 1, 2, 4]
    assert site.roadmap is not None
    assert site.roadmap.lanes.tolist() == [[0, 1], [1, 0]]
    assert site.roadmap.speed_limits.tolist() == [1.5, 1.5]
    assert site.roadmap.node("a") == 0
    assert site.starts.tolist() == [0, 3]
    assert site.goals.tolist() == [7, 4]
    assert site.elsewhere == {"attic": "L2"}
    write_site(site, tmp_path / "again.yaml")
    again = read_site(tmp_path / "again.yaml")
    write_site(again, tmp_path / "twice.yaml")
    assert (tmp_path / "again.yaml").read_text() == (tmp_path / "twice.yaml").read_text()
    assert again.stations == site.stations
    assert (again.starts.tolist(), again.goals.tolist()) == (site.starts.tolist(), site.goals.tolist())
    assert again.elsewhere == site.elsewhere
    assert (again.grid.free_mask == site.grid.free_mask).all()


def test_computed_coordinates_are_written_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(OWN)
    site = read_site(tmp_path / "hall.yaml")
    x, y = site.grid.positions(site.open_grid.free_cells)[0]
    ends: Any = np.float32(0.5), np.int64(2)
    computed = replace(
        site.with_stations([Station("press", StationKind.DROP, x, y, np.arange(2.0)[1])]),
        doors=(
            Door("door", "hinged", ends, ends[::-1], 60.0, -1),
            Door("gate", "double_hinged", ends, ends, ratio=2.0),
        ),
    )
    write_site(computed, tmp_path / "computed.yaml")
    again = read_site(tmp_path / "computed.yaml")
    assert again.station("press") == computed.station("press")
    assert list(map(astuple, again.doors)) == list(map(astuple, computed.doors))


@spoiled(
    OWN,
    ("kind: charge", "kind: charg", "stations.0..kind: must be one of"),
    ("at: [1.2, 2.2, 1.5]", "at: [1.2]", r"stations.0..at: must be \[x, y\] or"),
    ("at: [1.2, 2.2, 1.5]", "at: [1.8, 2.2]", "station 'dock' at .* is not on free space"),
    ("begin: a", "begin: b", r"roadmap.lanes.0..begin: unknown node 'b'. Known: a"),
    ("end: 1", "end: 2", "lane .* there are 2 nodes"),
    (", speed: 0.4", "", "a speed limit needs a speed"),
    ("kind: no_go", "kind: no_go, speed: 1", "only a zone of the kind speed_limit has a speed"),
    ("[[1, 2], [2, 2], [2, 3]]", "[[1, 2], [2, 2]]", "at least three corners"),
    ("rows: |\n  ....\n  .@@.\n", "rows: []\n", "rows: must be lines of letters"),
    ("site: hall", "site: hall\nhigh: 3", "high: unknown key"),
    ("[2.8, 2.8]]\ngoals", "[9, 2.8]]\ngoals", r"starts.1.: .9.0, 2.8. is outside of the cells"),
    ("goals: [[2.8, 2.2], ", "goals: [", "2 starts, but 1 goals"),
    ("{attic: L2}", "[attic]", "elsewhere: must be"),
    ("end: [1, 3]}", "end: [1, 3], direction: 0}", "door 'gate': direction must be 1 or -1, got 0"),
)
def test_a_wrong_site_of_ours_is_one_error(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "hall.yaml").write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        read_site(tmp_path / "hall.yaml")
    assert "hall.yaml" in str(caught.value)


def test_a_benchmark_keeps_its_starts_and_goals_when_it_is_converted(tmp_path: Path) -> None:
    (tmp_path / "a.map").write_text("type octile\nheight 2\nwidth 3\nmap\n...\n.@.\n")
    (tmp_path / "a.scen").write_text("version 1\n0\ta.map\t3\t2\t0\t0\t2\t1\t3\n0\ta.map\t3\t2\t2\t0\t0\t1\t3\n")
    benchmark = read_site(tmp_path / "a.scen")
    write_site(benchmark, tmp_path / "a.yaml")
    again = read_site(tmp_path / "a.yaml")
    assert again.starts.tolist() == benchmark.starts.tolist() == [0, 2]
    assert again.goals.tolist() == benchmark.goals.tolist() == [5, 3]


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(OWN)
    site = read_site(tmp_path / "hall.yaml")
    given: Any = site
    for write, name in ((write_site, "hall.json"), (write_map, "hall.png")):
        with pytest.raises(InvalidValueError, match=r"the file of a site ends in \.yaml"):
            write(given, tmp_path / name)
    with pytest.raises(InvalidValueError, match=r"a Grid .*, such as site\.grid, got Site"):
        write_map(given, tmp_path / "map.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["hall.yaml"]


# ---- rmf -------------------------------------------------------------------------------------------------------------


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


# ---- A format of sites is one reader and one entry: then scenarios and the command line know it ----------------------


class DotsFormat(SiteFormat):
    """A text of dots: each line is a row of free cells."""

    suffixes = (".dots",)
    doc = "rows of dots"

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        rows = [[letter == "." for letter in line] for line in content.splitlines()]
        return Site(path.stem, Grid(np.array(rows)))


@pytest.fixture
def format_of_dots() -> Iterator[None]:
    FORMATS.register("dots_of_guidance", DotsFormat())
    yield
    FORMATS.unregister("dots_of_guidance")


@pytest.fixture
def hall(tmp_path: Path) -> Path:
    file = tmp_path / "hall.dots"
    file.write_text("..#\n...\n", encoding="utf-8")
    return file


def test_without_it_the_file_is_refused(hall: Path) -> None:
    with pytest.raises(fs.ConfigError, match="sites are read from files that end in"):
        read_site(hall)


@pytest.mark.usefixtures("format_of_dots")
def test_its_files_are_read(hall: Path) -> None:
    site = read_site(hall)
    assert site.name == "hall"
    assert site.grid.free_mask.tolist() == [[True, True, False], [True, True, True]]


@pytest.mark.usefixtures("format_of_dots")
def test_its_walls_stand_in_a_scenario(hall: Path) -> None:
    with fs.MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "site": str(hall)}) as sim:
        (wall,) = sim.sim_objects
        assert wall.get_pose().position[:2] == pytest.approx((2.5, 1.5))


@pytest.mark.usefixtures("format_of_dots")
def test_the_command_line_shows_it(hall: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["site", "show", str(hall)]) == 0
    assert "5 cells in 1 part" in capsys.readouterr().out


# ---- The commands and files in docs/sites.md work as they stand there ------------------------------------------------


DOCUMENT = Path(__file__).parents[3] / "docs" / "sites.md"


def test_the_commands_run_on_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = DOCUMENT.read_text(encoding="utf-8")
    ran = 0
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "yaml":
            name = block.splitlines()[0].removeprefix("# ")
            (tmp_path / name).write_text(block)
        elif language == "sh":
            for line in block.splitlines():
                program, *arguments = shlex.split(line)
                assert (program, main(arguments)) == ("fleet-sim", 0), line
                ran += 1
    assert ran == 5


# ---- Pictures of sites, from above -----------------------------------------------------------------------------------


def test_stations_have_the_colors_of_views_and_films() -> None:
    stations = [Station(kind.value, kind, 0.5 + index, 0.5) for index, kind in enumerate(STATION_COLORS)]
    site = Site("s", Grid(np.ones((1, len(stations)), bool)), stations=tuple(stations))
    picture = draw_site(site, 8)
    assert [tuple(picture[4, 8 * index + 4].tolist()) for index in range(len(stations))] == [*STATION_COLORS.values()]


@pytest.mark.parametrize(("cells", "pixels"), [((5, 7), 32), ((3, 90), 17), ((2, 1700), 1)])
def test_a_picture_of_a_site_is_about_1600_pixels_long(cells: tuple[int, int], pixels: int) -> None:
    picture = draw_site(Site("hall", Grid(np.ones(cells, bool), 0.5)))
    assert picture.shape == (cells[0] * pixels, cells[1] * pixels, 3)


def test_lines_have_one_width_all_along_and_smooth_edges() -> None:
    site = Site("s", Grid(np.ones((20, 40), bool)))
    plain = draw_site(site, 16).astype(float)
    drawn = draw_site(site, 16, way=np.array([[5.0, 5.0], [35.0, 9.0]])).astype(float)
    # How far each pixel has become red between the ends: at most once, and as much in each column.
    red = ((plain - drawn)[..., 1] / (plain[..., 1] - 40.0))[:, 100:540]
    assert red.min() >= 0.0
    assert red.max() <= 1.0
    assert len(np.unique(red.round(3))) > 10
    np.testing.assert_allclose(red.sum(axis=0), 4.0 * np.hypot(30.0, 4.0) / 30.0, atol=0.1)


def test_lanes_outside_of_the_picture_are_left_out() -> None:
    grid = Grid(np.ones((10, 10), bool))
    roadmap = Roadmap(np.array([[-9.0, -9.0], [-5.0, -7.0], [20.0, 25.0], [5.0, 30.0]]), np.array([[0, 1], [2, 3]]))
    np.testing.assert_array_equal(draw_site(Site("s", grid, roadmap), 8), draw_site(Site("s", grid), 8))


LIF: dict[str, Any] = {
    "metaInformation": {"projectIdentification": "p", "creator": "c", "exportTimestamp": "t", "lifVersion": "1.0.0"},
    "layouts": [
        {
            "layoutId": "ground",
            "layoutVersion": "1",
            "nodes": [
                {
                    "nodeId": name,
                    "nodePosition": {"x": x, "y": y},
                    "vehicleTypeNodeProperties": [{"vehicleTypeId": "v", "theta": theta, "actions": actions}],
                }
                for name, x, y, theta, actions in (
                    ("n1", 1.0, 1.3, 0.5, [{"actionType": "pick", "blockingType": "HARD"}]),
                    ("n2", 6.0, 1.5, -1.1, []),
                    ("n3", 6.0, 7.0, 2.3, [{"actionType": each, "blockingType": "HARD"} for each in ("drop", "pick")]),
                )
            ],
            "edges": [
                {
                    "edgeId": f"{begin}{end}",
                    "startNodeId": begin,
                    "endNodeId": end,
                    "vehicleTypeEdgeProperties": [
                        {"vehicleTypeId": "v", "rotationAllowed": False, "maxSpeed": speed},
                        {"vehicleTypeId": "w", "rotationAllowed": True, **more},
                        {"vehicleTypeId": "x", "rotationAllowed": True},
                    ],
                }
                for begin, end, speed, more in (
                    ("n1", "n2", 1.2, {"maxSpeed": 1.3}),
                    ("n2", "n3", 0.7, {"maxSpeed": 0.4}),
                    ("n3", "n1", 2.0, {}),
                    ("n2", "up", 1.0, {}),
                    ("n1", "n2", 1.4, {}),
                    ("n3", "n1", 1.9, {}),
                )
            ],
            "stations": [
                {"stationId": "s1", "stationName": "in", "interactionNodeIds": ["n1"]},
                {"stationId": "s2", "interactionNodeIds": ["n3", "n1"]},
                {"stationId": "s3", "interactionNodeIds": ["n2"]},
            ],
        },
        {
            "layoutId": "first",
            "layoutVersion": "1",
            "nodes": [{"nodeId": "up", "nodePosition": {"x": 0, "y": 0}, "vehicleTypeNodeProperties": []}],
            "edges": [],
            "stations": [],
        },
    ],
}


def test_a_layout_of_lif_is_a_site(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(LIF))
    site = read_site(path, level="ground")
    assert site.roadmap is not None
    assert site.roadmap.names == ("n1", "n2", "n3")
    # The edge to another layout is a change of levels.
    assert site.roadmap.lanes.tolist() == [[0, 1], [1, 2], [2, 0]]
    assert site.roadmap.speed_limits.tolist() == [1.2, 0.4, 1.9], "the slowest of all"
    assert [(one.name, one.kind.value, one.x, one.y, one.yaw) for one in site.stations] == [
        ("in", "pick", 1.0, 1.3, 0.5),
        ("s2", "workstation", 6.0, 7.0, 2.3),
        ("s3", "park", 6.0, 1.5, -1.1),
    ]
    with pytest.raises(ConfigError, match="ground, first; say which"):
        read_site(path)
    # Written and read again it is the same; free space is no part of it.
    assert main(["site", "convert", str(path), str(tmp_path / "again.json"), "--level", "ground", "--to", "lif"]) == 0
    again = read_site(tmp_path / "again.json")
    assert again.roadmap is not None
    assert again.roadmap.positions.tolist() == site.roadmap.positions.tolist()
    assert again.roadmap.lanes.tolist() == site.roadmap.lanes.tolist()
    assert again.roadmap.speed_limits.tolist() == site.roadmap.speed_limits.tolist()
    assert [astuple(one) for one in again.stations] == [astuple(one) for one in site.stations]
    with pytest.raises(InvalidValueError, match="no roadmap"):
        write_lif(Site("hall", Grid(np.ones((3, 3), bool), 1.0)), tmp_path / "hall.json")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lif: lif["layouts"][0]["nodes"][1].update(nodeId="n1"), "needs a nodeId of its own"),
        (lambda lif: lif["layouts"][0]["nodes"][0].update(nodePosition={"x": "1"}), "finite x and y"),
        (lambda lif: lif["layouts"][0]["edges"][0].update(endNodeId="n9"), "there is no node 'n9'"),
        (lambda lif: lif["layouts"][0]["edges"][1]["vehicleTypeEdgeProperties"][0].update(maxSpeed=0), "above 0 m/s"),
        (lambda lif: lif["layouts"][0]["stations"][0].update(interactionNodeIds=[]), "needs the id of a node"),
        (lambda lif: lif["layouts"][0]["stations"][0].update(interactionNodeIds=[["n1"]]), "needs the id of a node"),
        (lambda lif: lif["layouts"][0].update(nodes=[]), "has no nodes"),
        (lambda lif: lif["layouts"].clear(), "it has no levels"),
    ],
)
def test_wrong_layouts_of_lif_are_one_error(tmp_path: Path, change: Any, reason: str) -> None:
    content = json.loads(json.dumps(LIF))
    change(content)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ConfigError, match=reason):
        read_site(path, level="ground")
