"""Sites in fleet_sim's own format: what is written is what is read."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from spoiled import spoiled

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.warehouse.sites import Door, Station, StationKind, read_site, write_map, write_site

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
    with pytest.raises(InvalidValueError, match=r"of a Grid, such as site\.grid, got Site"):
        write_map(given, tmp_path / "map.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["hall.yaml"]
