"""Robots and objects of a scenario at the places of its site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.warehouse.sites import read_site

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
