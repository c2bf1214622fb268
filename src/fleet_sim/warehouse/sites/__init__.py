"""Sites: buildings for fleets, read from and written to the field's formats.

`site.py` is what all readers return; `reading.py` finds the format of a file, and the files of formats are beside it.
`grid.py` has the free cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_sim.base.exports import lazy

if TYPE_CHECKING:
    from fleet_sim.warehouse.sites.drawing import draw_site as draw_site
    from fleet_sim.warehouse.sites.grid import NO_CELL as NO_CELL
    from fleet_sim.warehouse.sites.grid import Grid as Grid
    from fleet_sim.warehouse.sites.lif_format import write_lif as write_lif
    from fleet_sim.warehouse.sites.map_formats import write_map as write_map
    from fleet_sim.warehouse.sites.own_format import write_site as write_site
    from fleet_sim.warehouse.sites.reading import FORMATS as FORMATS
    from fleet_sim.warehouse.sites.reading import SiteFormat as SiteFormat
    from fleet_sim.warehouse.sites.reading import read_site as read_site
    from fleet_sim.warehouse.sites.rmf_format import read_building as read_building
    from fleet_sim.warehouse.sites.section import build_walls as build_walls
    from fleet_sim.warehouse.sites.site import Building as Building
    from fleet_sim.warehouse.sites.site import Door as Door
    from fleet_sim.warehouse.sites.site import Roadmap as Roadmap
    from fleet_sim.warehouse.sites.site import Site as Site
    from fleet_sim.warehouse.sites.site import SortationFloor as SortationFloor
    from fleet_sim.warehouse.sites.site import Station as Station
    from fleet_sim.warehouse.sites.site import StationKind as StationKind
    from fleet_sim.warehouse.sites.site import Warehouse as Warehouse
    from fleet_sim.warehouse.sites.site import Zone as Zone
    from fleet_sim.warehouse.sites.site import ZoneKind as ZoneKind
else:
    __all__, __getattr__, __dir__ = lazy(globals())
