"""Speed limits of lanes, as the zones and the roadmap of a site have them."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Floats
from fleet_sim.sites.site import Site
from fleet_sim.traffic.network import Network
from fleet_sim.traffic.rules import Rules


def lane_limits(site: Site, network: Network) -> Floats:
    """Return the speed limits (N * K,) in m/s of the lanes of `network`, inf where there is none.

    A lane has the lowest limit of the zones that it leads through, and that of the roadmap. On a grid these are the
    zones of its two cells.
    """
    rules = Rules(site)
    limits = np.full(network.neighbours.shape, np.inf)
    if network.grid is not None:
        if not rules.uniform:
            speeds = rules.speeds[rules.label[network.cells]]
            limits = np.minimum(speeds[:, None], speeds[network.neighbours])
        return limits.ravel()
    assert site.roadmap is not None
    own = site.grid.to_own(network.positions) / site.grid.cell
    places = np.stack((own[:, 0], site.grid.height - own[:, 1]), axis=1).tolist()
    roads = zip(site.roadmap.lanes.tolist(), site.roadmap.speed_limits.tolist(), strict=True)
    for (begin, end), limit in roads:
        zones = rules.limit(rules.touched(tuple(places[begin]), tuple(places[end])))
        lane = (begin, network.neighbours[begin] == end)
        limits[lane] = np.minimum(limits[lane], min(limit, zones))
    return limits.ravel()
