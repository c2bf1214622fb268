"""Questions about a world that are answered from its columns: rays, distances, and what is in a region.

They see the poses at the time of the call, also within a step. Lengths are in m, points in the frame of the world.
"""

from __future__ import annotations

from fleet_sim.collision.convex.distances import NearPoint
from fleet_sim.queries.queries import Near, SpatialQueries
from fleet_sim.queries.rays import RayHits

__all__ = ["Near", "NearPoint", "RayHits", "SpatialQueries"]
