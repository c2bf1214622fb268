"""DXF, drawings of CAD programs: lines and curves on the layers of walls become walls; read with ezdxf.

Layers of walls are those with `wall` in their names; a `level` names another one. Coordinates are those of the drawing,
in its units. All that walls enclose is free, and stations and zones are added to the site.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fleet_sim.base.errors import InvalidValueError, brief, of_extra
from fleet_sim.base.limits import LARGEST_EXTENT
from fleet_sim.warehouse.sites.reading import SiteFormat, fail, warn_of
from fleet_sim.warehouse.sites.rmf_format import boxes_of, cell_for, named_after
from fleet_sim.warehouse.sites.section import free_space
from fleet_sim.warehouse.sites.site import Site

THICKNESS = 0.02
"""Of a line in m: both sides of a wall are drawn."""
SAGITTA = 0.01
"""How far in m the lines in place of a curve may be from it."""
MOST_LINES, MOST_DRAWN, DEEPEST = 20_000, 10_000, 8
"""Lines of walls, entities of blocks as often as they are drawn, and blocks within blocks."""


class DxfFormat(SiteFormat):
    """Walls in drawings, as text (not binary)."""

    suffixes = (".dxf",)
    doc = "DXF drawing"
    has_levels = True

    def read(self, content: Any, path: Path, level: str | None) -> Site:
        """Return the walls on one layer, or on those of walls, as a site; raises ConfigError."""
        with of_extra("ezdxf", "dxf", "a DXF drawing"):
            from ezdxf.enums import InsertUnits
            from ezdxf.filemanagement import read
            from ezdxf.lldxf.const import DXFError
            from ezdxf.units import conversion_factor
        try:
            drawing: Any = read(io.StringIO(content))
            units = InsertUnits(drawing.header.get("$INSUNITS", 0))
            scale = float(conversion_factor(units, InsertUnits.Meters)) if units else 0.0
        except MemoryError:
            raise
        # Foreign code: broken drawings end in errors of all kinds.
        except Exception as error:
            fail(path, f"is not a DXF drawing that can be read: {brief(str(error))}")
        if not scale:
            fail(path, "does not say its units; set $INSUNITS (UNITS in CAD programs), such as 4 for mm or 6 for m")

        def has_walls(layer: str) -> bool:
            return "wall" in layer.lower() if level is None else layer.lower() == level.lower()

        space, table = drawing.modelspace(), list(drawing.layers)
        # Capitals make no difference, and the table need not have all layers.
        names = [*map(_layer_of, space), *(layer.dxf.name for layer in table)]
        layers = {name.lower(): name for name in names}
        hidden = {layer.dxf.name.lower() for layer in table if layer.is_off() or layer.is_frozen()}
        shown = [layers[key] for key in sorted(layers.keys() - hidden) if has_walls(key)]
        if not any(map(has_walls, layers)):
            known = ", ".join(sorted(layers.values()))
            which = "no layer has 'wall' in its name" if level is None else f"there is no layer {level!r}"
            fail(path, f"{which}; say which one has the walls as the level: {known}")
        lines: list[tuple[float, float, float, float]] = []
        left_out: set[str] = set()
        with named_after(path, ""):
            try:
                for entity, layer in _entities(space, [0]):
                    if not has_walls(layer) or layer.lower() in hidden:
                        left_out.add(f"layer {layer}")
                    elif not _add(entity, scale, lines):
                        left_out.add(f"{entity.dxftype()} on {layer}")
            except (DXFError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, InvalidValueError):
                    raise
                fail(path, f"is broken: {brief(str(error))}")
            if not lines:
                fail(path, f"has no lines on {', '.join(shown) or 'layers that are shown'}")
            warn_of({"": sorted(left_out)} if left_out else {}, path)
            walls = np.array(lines)
            cell = cell_for(walls.reshape(-1, 2))
            return Site(path.stem, free_space([], walls, cell, THICKNESS), walls=boxes_of(walls, THICKNESS))


def _layer_of(entity: Any) -> str:
    """Return the layer of an entity; that of kinds that the library does not know is 0."""
    return str(entity.dxf.layer) if entity.dxf.is_supported("layer") else "0"


def _entities(given: Iterable[Any], seen: list[int], depth: int = 0, inherited: str = "0") -> Iterator[tuple[Any, str]]:
    """Yield entities and their layers, with those of blocks, which `seen` counts; raises InvalidValueError.

    What is on layer 0 of a block is on that of its reference.
    """
    for entity in given:
        seen[0] += depth > 0
        if seen[0] > MOST_DRAWN or depth > DEEPEST:
            raise InvalidValueError(f"blocks are more than {DEEPEST} deep, or draw over {MOST_DRAWN:,} entities in all")
        layer = inherited if _layer_of(entity) == "0" else _layer_of(entity)
        if entity.dxftype() != "INSERT":
            yield entity, layer
        elif entity.mcount > 1:
            yield from _entities(entity.multi_insert(), seen, depth + 1, layer)
        else:
            yield from _entities(entity.virtual_entities(), seen, depth + 1, layer)


def _add(entity: Any, scale: float, lines: list[tuple[float, float, float, float]]) -> bool:
    """Add the lines of an entity in m; return whether it has any. Raises InvalidValueError for too many."""
    from ezdxf.path import make_path

    try:
        path = make_path(entity)
    except TypeError:
        return False
    corners = np.array([(point.x, point.y) for point in path.control_vertices()]).reshape(-1, 2) * scale
    # Before curves are divided; NaN fails this comparison too.
    if len(corners) and not np.abs(corners).max() <= LARGEST_EXTENT:
        raise InvalidValueError(f"{entity.dxftype()}: it is farther than {LARGEST_EXTENT:g} m from the origin")
    points = ((point.x * scale, point.y * scale) for point in path.flattening(SAGITTA / scale))
    for (x1, y1), (x2, y2) in pairwise(points):
        if (x1, y1) != (x2, y2):
            lines.append((x1, y1, x2, y2))
        if len(lines) > MOST_LINES:
            raise InvalidValueError(f"walls have more than {MOST_LINES:,} lines")
    return True


FORMAT = DxfFormat()
