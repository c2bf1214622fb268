"""A format of sites is one reader and one entry: then scenarios and the command line know it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fleet_sim as fs
from fleet_sim.apps.cli.main import main
from fleet_sim.warehouse.sites import FORMATS, Grid, Site, SiteFormat, read_site


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
