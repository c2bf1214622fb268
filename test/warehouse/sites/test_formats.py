"""Sites from the files of others: what is read, and one clear error for what is wrong."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from fleet_sim.base.errors import ConfigError
from fleet_sim.base.files import write_png
from fleet_sim.warehouse.sites import StationKind, read_site, write_map
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
    refused(path, "is not a site; a file that ends in '.json' can be: LSMART map, League of Robot Runners problem")


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
    with pytest.raises(ConfigError, match="it is no readable picture"):
        read_site(refused_picture)


def test_a_map_is_written_as_it_is_read(tmp_path: Path, maps: Path) -> None:
    pytest.importorskip("PIL")
    grid = read_site(maps / "small.map").grid
    write_map(grid, tmp_path / "out.yaml")
    again = read_site(tmp_path / "out.yaml").grid
    assert (again.free_mask == grid.free_mask).all()
    assert (again.cell, again.origin) == (grid.cell, grid.origin)


def test_unknown_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "hall.txt").write_text("")
    refused(tmp_path / "hall.txt", "sites are read from files that end in .json, .map, .scen, .yaml, .yml")
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
