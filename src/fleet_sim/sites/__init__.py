"""Sites: buildings for fleets, read from and written to the field's formats.

`site.py` is what all readers return; `reading.py` finds the format of a file, and `formats/` has one file for each.
`grid.py` has the free cells, `roadmap.py` the lanes, `generate.py` makes sites from a few numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.sites.building import Building as Building
    from fleet_sim.sites.formats.map_server import write_map as write_map
    from fleet_sim.sites.formats.own_writing import write_site as write_site
    from fleet_sim.sites.formats.rmf_building import read_building as read_building
    from fleet_sim.sites.formats.site_format import FORMATS as FORMATS
    from fleet_sim.sites.formats.site_format import SiteFormat as SiteFormat
    from fleet_sim.sites.generate import SortationFloor as SortationFloor
    from fleet_sim.sites.generate import Warehouse as Warehouse
    from fleet_sim.sites.grid import NO_CELL as NO_CELL
    from fleet_sim.sites.grid import Grid as Grid
    from fleet_sim.sites.picture import draw_site as draw_site
    from fleet_sim.sites.reading import read_site as read_site
    from fleet_sim.sites.roadmap import Roadmap as Roadmap
    from fleet_sim.sites.site import Door as Door
    from fleet_sim.sites.site import Site as Site
    from fleet_sim.sites.stations import Station as Station
    from fleet_sim.sites.stations import StationKind as StationKind
    from fleet_sim.sites.stations import Zone as Zone
    from fleet_sim.sites.stations import ZoneKind as ZoneKind
    from fleet_sim.sites.walls import build_walls as build_walls
else:
    __all__, __getattr__, __dir__ = lazy(globals())
