"""Places in a network: stations, nodes and points."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from fleet_sim.arrays import Ints, as_floats
from fleet_sim.errors import InvalidValueError
from fleet_sim.sites.site import Site
from fleet_sim.traffic.network import Network

Place: TypeAlias = str | int | tuple[float, float]
"""The name of a station, the number of a node, or a point (x, y) in m that is at a node."""
ManyPlaces: TypeAlias = Place | list[Place] | Ints
"""A place, or several in a list, or the numbers of nodes in an array."""


def node_of(network: Network, site: Site, place: Place) -> int:
    """Return the node at a place; raises InvalidValueError where there is none, UnknownNameError for no station."""
    if isinstance(place, (int, np.integer)):
        # True would be node 1.
        if isinstance(place, bool) or not 0 <= place < len(network):
            raise InvalidValueError(f"node {place!r}: nodes are numbered from 0 to {len(network) - 1}")
        return int(place)
    if isinstance(place, str):
        station = site.station(place)
        x, y = station.x, station.y
    else:
        x, y = as_floats(place, (2,), "place").tolist()
    node = int(network.node_at(np.array([[x, y]]))[0])
    if node < 0:
        raise InvalidValueError(f"{place!r} is at no node: in a wall, outside, or too narrow for the robots")
    return node


def nodes_of(network: Network, site: Site, places: ManyPlaces) -> Ints:
    """Return the nodes (K,) at places; raises as `node_of` does."""
    if isinstance(places, np.ndarray):
        return np.array([node_of(network, site, int(node)) for node in places], np.int64)
    # A point is a tuple, and several places are a list.
    given = places if isinstance(places, list) else [places]
    return np.array([node_of(network, site, place) for place in given], np.int64)
