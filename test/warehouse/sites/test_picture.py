"""Pictures of sites, from above."""

from __future__ import annotations

import numpy as np

from fleet_sim.warehouse.sites import Grid, Roadmap, Site, Station, draw_site
from fleet_sim.warehouse.sites.pictures import STATION_COLORS


def test_stations_have_the_colors_of_views_and_films() -> None:
    stations = [Station(kind.value, kind, 0.5 + index, 0.5) for index, kind in enumerate(STATION_COLORS)]
    site = Site("s", Grid(np.ones((1, len(stations)), bool)), stations=tuple(stations))
    picture = draw_site(site, 8)
    assert [tuple(picture[4, 8 * index + 4].tolist()) for index in range(len(stations))] == [*STATION_COLORS.values()]


def test_lines_have_one_width_all_along_and_smooth_edges() -> None:
    site = Site("s", Grid(np.ones((20, 40), bool)))
    plain = draw_site(site, 16).astype(float)
    drawn = draw_site(site, 16, way=np.array([[5.0, 5.0], [35.0, 9.0]])).astype(float)
    # How far each pixel has become red between the ends: at most once, and as much in each column.
    red = ((plain - drawn)[..., 1] / (plain[..., 1] - 40.0))[:, 100:540]
    assert red.min() >= 0.0
    assert red.max() <= 1.0
    assert len(np.unique(red.round(3))) > 10
    np.testing.assert_allclose(red.sum(axis=0), 4.0 * np.hypot(30.0, 4.0) / 30.0, atol=0.1)


def test_lanes_outside_of_the_picture_are_left_out() -> None:
    grid = Grid(np.ones((10, 10), bool))
    roadmap = Roadmap(np.array([[-9.0, -9.0], [-5.0, -7.0], [20.0, 25.0], [5.0, 30.0]]), np.array([[0, 1], [2, 3]]))
    np.testing.assert_array_equal(draw_site(Site("s", grid, roadmap), 8), draw_site(Site("s", grid), 8))
