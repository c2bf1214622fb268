"""Writes sites in fleet_sim's own format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from fleet_sim.output import replacing
from fleet_sim.sites.formats.site_format import check_suffix
from fleet_sim.sites.roadmap import NO_LIMIT, Roadmap
from fleet_sim.sites.site import Door, Site
from fleet_sim.sites.stations import Zone, ZoneKind


def write_site(site: Site, path: str | Path) -> None:
    """Write `site` to a YAML file that `read_site` reads to an equal one.

    Raises InvalidValueError for a file that does not end in .yaml or .yml.
    """
    check_suffix(path)
    grid = site.grid
    content: dict[str, Any] = {
        "site": site.name,
        "cell": float(grid.cell),
        "origin": [float(value) for value in grid.origin],
        "rows": _Block("\n".join("".join(row) for row in np.where(grid.free_mask, ".", "@").tolist()) + "\n"),
    }
    if site.walls is not None:
        # Only what there is: people edit these files, and empty sections invite questions.
        content["walls"] = np.asarray(site.walls).tolist()
    if site.stations:
        content["stations"] = [
            _Line({"name": station.name, "kind": station.kind.value, "at": [station.x, station.y, station.yaw]})
            for station in site.stations
        ]
    if site.zones:
        content["zones"] = [_zone_content(zone) for zone in site.zones]
    if site.doors:
        content["doors"] = [_door_content(door) for door in site.doors]
    if site.roadmap is not None:
        content["roadmap"] = _roadmap_content(site.roadmap)
    for name, cells in (("starts", site.starts), ("goals", site.goals)):
        if len(cells):
            content[name] = grid.positions(cells).tolist()
    if site.elsewhere:
        content["elsewhere"] = dict(site.elsewhere)
    text = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=1000, default_flow_style=None)
    # Whole or not at all: a site that ends in the middle may still be valid YAML, of a smaller site.
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


# A site is read and edited by people: cells as a picture of letters, and an entry a line.
class _Block(str):
    __slots__ = ()


class _Line(dict[str, Any]):
    pass


class _Dumper(yaml.SafeDumper):
    # YAML would write the second of two equal lists as a reference to the first, which nobody wants to edit.
    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(_Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|"))
# Coordinates are often computed.
_Dumper.add_multi_representer(np.generic, lambda dumper, number: dumper.represent_data(number.item()))  # type: ignore[type-abstract]
_Dumper.add_representer(
    _Line, lambda dumper, entry: dumper.represent_mapping("tag:yaml.org,2002:map", entry.items(), flow_style=True)
)


def _door_content(door: Door) -> dict[str, Any]:
    content = _Line({"name": door.name, "kind": door.kind, "begin": list(door.begin), "end": list(door.end)})
    for name in ("degrees", "direction", "ratio"):
        value = getattr(door, name)
        # What is as usual need not be read by those who edit the file.
        if value != getattr(Door, name):
            content[name] = value
    return content


def _zone_content(zone: Zone) -> dict[str, Any]:
    content = _Line({"name": zone.name, "kind": zone.kind.value, "corners": zone.corners.tolist()})
    if zone.kind is ZoneKind.SPEED_LIMIT:
        content["speed"] = float(zone.speed)
    if zone.kind is ZoneKind.ONE_WAY:
        content["direction"] = float(zone.direction)
    return content


def _roadmap_content(roadmap: Roadmap) -> dict[str, Any]:
    """Return a roadmap as a file has it."""
    nodes = [{"name": name, "at": place} for name, place in zip(roadmap.names, roadmap.positions.tolist(), strict=True)]
    lanes = []
    for (begin, end), limit in zip(roadmap.lanes.tolist(), roadmap.speed_limits.tolist(), strict=True):
        lane = _Line({"begin": begin, "end": end})
        # No limit is infinity in a Roadmap, and a missing key in files.
        if limit < NO_LIMIT:
            lane["speed_limit"] = limit
        lanes.append(lane)
    return {"nodes": nodes, "lanes": lanes}
