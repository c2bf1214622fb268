"""Traffic: routes of robots in a site."""

from fleet_sim.traffic.router import Router

__all__ = ["Router"]
