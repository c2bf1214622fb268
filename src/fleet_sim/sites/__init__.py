"""Sites: buildings for fleets, read from and written to the field's formats."""

from fleet_sim.sites.formats.base import FORMATS, SiteFormat
from fleet_sim.sites.formats.map_server import write_map
from fleet_sim.sites.formats.own import write_site
from fleet_sim.sites.generate import SortationFloor, Warehouse
from fleet_sim.sites.grid import NO_CELL, Grid
from fleet_sim.sites.picture import draw_site
from fleet_sim.sites.reading import read_site
from fleet_sim.sites.roadmap import Roadmap
from fleet_sim.sites.site import Door, Site
from fleet_sim.sites.stations import Station, StationKind, Zone, ZoneKind
from fleet_sim.sites.walls import build_walls

__all__ = [
    "FORMATS",
    "NO_CELL",
    "Door",
    "Grid",
    "Roadmap",
    "Site",
    "SiteFormat",
    "SortationFloor",
    "Station",
    "StationKind",
    "Warehouse",
    "Zone",
    "ZoneKind",
    "build_walls",
    "draw_site",
    "read_site",
    "write_map",
    "write_site",
]
