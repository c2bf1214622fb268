"""Walls from DXF drawings: those of another program (ezdxf), of one written by hand, and what is refused."""

from __future__ import annotations

import io
import logging
import math
import sys
from pathlib import Path

import ezdxf
import numpy as np
import pytest

from fleet_sim import MissingDependencyError
from fleet_sim.base.errors import ConfigError
from fleet_sim.warehouse.sites import read_site

HAND = """
0 SECTION 2 HEADER 9 $ACADVER 1 AC1009 9 $INSUNITS 70 6 0 ENDSEC
0 SECTION 2 TABLES 0 TABLE 2 LAYER 70 1 0 LAYER 2 Outer_Walls 70 0 62 7 6 CONTINUOUS 0 ENDTAB 0 ENDSEC
0 SECTION 2 ENTITIES
0 LINE 8 Outer_Walls 10 0 20 0 11 6 21 0
0 LINE 8 Outer_Walls 10 6 20 0 11 6 21 4
0 LINE 8 Outer_Walls 10 6 20 4 11 0 21 4
0 LINE 8 Outer_Walls 10 0 20 4 11 0 21 0
0 ENDSEC 0 EOF
"""


def saved(drawing: ezdxf.document.Drawing, path: Path) -> Path:
    stream = io.StringIO()
    drawing.write(stream)
    path.write_text(stream.getvalue())
    return path


def drawn(units: int = 4) -> ezdxf.document.Drawing:
    """A drawing in `units`, with a layer of walls and another one."""
    drawing = ezdxf.new("R2010")
    drawing.header["$INSUNITS"] = units
    for name in ("A-WALL", "FURNITURE"):
        drawing.layers.add(name)
    return drawing


def distance(points: np.ndarray, begin: tuple[float, float], end: tuple[float, float]) -> np.ndarray:
    (x, y), way = begin, np.subtract(end, begin)
    share = np.clip(((points - (x, y)) @ way) / (way @ way), 0.0, 1.0)
    return np.hypot(*(points - (x, y) - share[:, None] * way).T)


def test_a_drawing_in_millimetres_with_arcs_and_blocks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    drawing = drawn()
    space = drawing.modelspace()
    # The right side is half a circle: a bulge of 1 to the right of the way up.
    corners = [(0, 0, 0), (9000, 0, 1), (9000, 5000, 0), (0, 5000, 0)]
    space.add_lwpolyline(corners, format="xyb", close=True, dxfattribs={"layer": "A-WALL"})
    space.add_circle((3000, 2500), 400, dxfattribs={"layer": "A-WALL"})
    block = drawing.blocks.new("screen")
    block.add_line((0, 0), (1, 0), dxfattribs={"layer": "0"})
    inserted = {"layer": "A-WALL", "xscale": 1500, "yscale": 1500, "rotation": 30}
    space.add_blockref("screen", (5000, 2000), dxfattribs=inserted)
    space.add_line((0, 0), (9000, 5000), dxfattribs={"layer": "FURNITURE"})
    space.add_text("hall", dxfattribs={"layer": "A-WALL"})
    with caplog.at_level(logging.WARNING):
        site = read_site(saved(drawing, tmp_path / "hall.dxf"))
    assert "TEXT on A-WALL, layer FURNITURE" in caplog.text
    middles, free, cell = site.grid.middles, site.grid.free_mask.ravel(), site.grid.cell
    end = (5.0 + 1.5 * math.cos(math.pi / 6), 2.0 + 1.5 * math.sin(math.pi / 6))
    lines = [((0, 0), (9, 0)), ((0, 5), (9, 5)), ((0, 0), (0, 5)), ((5.0, 2.0), end)]
    gaps = [distance(middles, *line) for line in lines]
    gaps.append(np.abs(np.hypot(*(middles - (3.0, 2.5)).T) - 0.4))
    right = middles[:, 0] >= 9.0
    gaps.append(np.where(right, np.abs(np.hypot(*(middles - (9.0, 2.5)).T) - 2.5), np.inf))
    gap = np.min(gaps, axis=0)
    # A cell that a line crosses is within half a diagonal of it; what is farther than that, and the sagitta, is free.
    assert free[gap > 0.5 * math.sqrt(2.0) * cell + 0.03].all() and not free[gap < 0.4 * cell].any()
    assert site.boxes()[:, 3:].min() == pytest.approx(0.01) and len(site.boxes()) > 20


@pytest.mark.parametrize("more", ["", "0 UNKNOWN 5 99 "])
def test_a_drawing_by_hand(tmp_path: Path, more: str) -> None:
    drawing = HAND.replace("0 ENDSEC 0 EOF", f"{more}0 ENDSEC 0 EOF")
    (tmp_path / "box.dxf").write_text("\n".join(drawing.split()) + "\n")
    site = read_site(tmp_path / "box.dxf", cell=0.5)
    assert len(site.boxes()) == 4 and site.grid.regions().max() >= 0
    inner = site.grid.cells_at(np.array([(1.0, 1.0), (5.0, 3.0), (6.02, 2.0)]))
    assert site.grid.is_free(inner).tolist() == [True, True, False]


@pytest.mark.parametrize(("level", "count"), [(None, 3), ("a-wall", 2), ("Inner walls", 1)])
def test_names_of_layers_are_the_same_in_capitals_and_need_no_table(
    tmp_path: Path, level: str | None, count: int
) -> None:
    drawing = drawn()
    for number, layer in enumerate(("A-WALL", "a-wall", "INNER WALLS", "Furniture")):
        drawing.modelspace().add_line((0, 1000 * number), (9000, 5000), dxfattribs={"layer": layer})
    assert len(read_site(saved(drawing, tmp_path / "hall.dxf"), level=level).boxes()) == count


def bomb() -> ezdxf.document.Drawing:
    """Blocks of ten blocks of ten blocks: few bytes, and more than any memory holds."""
    drawing = drawn()
    drawing.blocks.new("b0").add_line((0, 0), (1, 0), dxfattribs={"layer": "A-WALL"})
    for depth in range(1, 8):
        block = drawing.blocks.new(f"b{depth}")
        for number in range(10):
            block.add_blockref(f"b{depth - 1}", (number, 0))
    drawing.modelspace().add_blockref("b7", (0, 0))
    return drawing


def many() -> ezdxf.document.Drawing:
    drawing = drawn()
    grid = {"layer": "A-WALL", "row_count": 300, "column_count": 300, "row_spacing": 1, "column_spacing": 1}
    drawing.blocks.new("line").add_line((0, 0), (1, 0))
    drawing.modelspace().add_blockref("line", (0, 0), dxfattribs=grid)
    return drawing


def rings() -> ezdxf.document.Drawing:
    drawing = drawn()
    for number in range(300):
        drawing.modelspace().add_circle((0, 0), 1e6 + number, dxfattribs={"layer": "A-WALL"})
    return drawing


def line(end: float, units: int = 4) -> ezdxf.document.Drawing:
    drawing = drawn(units)
    drawing.modelspace().add_line((0, 0), (end, 1000), dxfattribs={"layer": "A-WALL"})
    return drawing


@pytest.mark.parametrize(
    ("drawing", "level", "reason"),
    [
        (bomb(), None, "over 10,000 entities"),
        (many(), None, "over 10,000 entities"),
        (rings(), None, "more than 20,000 lines"),
        (line(1e16), None, "farther than"),
        (line(9000, 0), None, "does not say its units"),
        (line(9000), "C-WALL", "there is no layer 'C-WALL'.*A-WALL"),
        (line(9000), "FURNITURE", "has no lines on FURNITURE"),
    ],
)
def test_what_cannot_be_a_site_is_refused(
    tmp_path: Path, drawing: ezdxf.document.Drawing, level: str | None, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        read_site(saved(drawing, tmp_path / "drawing.dxf"), level=level)
    assert "drawing.dxf" in str(error.value)


@pytest.mark.parametrize(
    "text", ["", "0\nSECTION\n", "no drawing", "0\nEOF\n", "0\nSECTION\n2\nENTITIES\n0\nLINE\n10\nx\n"]
)
def test_what_is_no_drawing_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.dxf").write_text(text)
    with pytest.raises(ConfigError, match=r"bad\.dxf"):
        read_site(tmp_path / "bad.dxf")


def test_without_the_extra_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(line(9000), tmp_path / "hall.dxf")
    for module in {"ezdxf", *(name for name in sys.modules if name.startswith("ezdxf."))}:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"fleet_sim\[dxf\]"):
        read_site(path)
