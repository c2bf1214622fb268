"""Colors of what is on floors, in views, films and pictures of sites alike."""

from __future__ import annotations

from fleet_sim.sites.stations import StationKind, ZoneKind

STATION_COLORS = {
    StationKind.PICK: (46, 160, 95),
    StationKind.DROP: (38, 116, 217),
    StationKind.CHARGE: (240, 180, 40),
    StationKind.PARK: (140, 148, 160),
    StationKind.WORKSTATION: (155, 89, 182),
}
NO_GO_COLOR, OTHER_ZONE_COLOR, DOOR_COLOR = (222, 42, 42), (240, 180, 40), (200, 120, 40)
PATH_COLOR, PATH_ON_FILM = (128, 172, 232), (24, 78, 160)
"""Films have a darker floor than pages."""
SMALLEST_STATION, LARGEST_STATION = 0.25, 0.6
"""Half the size in m, whatever the size of the cells is: one of 5 cm would not be seen."""


def zone_color(kind: ZoneKind) -> tuple[int, int, int]:
    """Return the color of zones of a kind."""
    return NO_GO_COLOR if kind is ZoneKind.NO_GO else OTHER_ZONE_COLOR


def station_half(cell: float) -> float:
    """Return half the size in m of stations where cells have the size `cell`."""
    return min(max(0.45 * cell, SMALLEST_STATION), LARGEST_STATION)
