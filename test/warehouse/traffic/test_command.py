"""`fleet-sim site route`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import Warehouse, write_site


@pytest.fixture
def hall(tmp_path: Path) -> str:
    write_site(Warehouse().site(), tmp_path / "hall.yaml")
    return str(tmp_path / "hall.yaml")


def test_it_prints_and_draws_a_route(hall: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "route.png"
    given = ["--radius", "0.4", "--picture", str(picture)]
    assert main(["site", "route", hall, "0.5", "0.5", "37.5", "12.5", *given]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["0.500", "0.500"]
    assert lines[-3].split() == ["37.500", "12.500"]
    assert lines[-2].startswith("length       45.1")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["0.5", "0.5", "7.5", "5"], "the goal (7.5, 5) is in a wall"),
        (["-0.5", "0.5", "7.5", "3.5"], "the start (-0.5, 0.5) is outside of the map"),
        (["0.5", "0.5", "7.5", "3.5", "--radius", "0.6"], "needs 0.6 m of room"),
        (["0.5", "0.5", "7.5", "3.5", "--route", "roadmap"], "has no roadmap; use grid or auto"),
    ],
)
def test_what_has_no_route_is_an_error(
    hall: str, capsys: pytest.CaptureFixture[str], given: list[str], reason: str
) -> None:
    assert main(["site", "route", hall, *given]) == 1
    assert reason in capsys.readouterr().err
