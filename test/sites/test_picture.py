"""Pictures of sites, from above."""

from __future__ import annotations

import numpy as np

from fleet_sim.sites import Grid, Site, Station, draw_site
from fleet_sim.sites.plan_colors import STATION_COLORS


def test_stations_have_the_colors_of_views_and_films() -> None:
    stations = [Station(kind.value, kind, 0.5 + index, 0.5) for index, kind in enumerate(STATION_COLORS)]
    site = Site("s", Grid(np.ones((1, len(stations)), bool)), stations=tuple(stations))
    picture = draw_site(site, 8)
    assert [tuple(picture[4, 8 * index + 4].tolist()) for index in range(len(stations))] == [*STATION_COLORS.values()]
