"""Traffic: routes of robots in a site."""

from fleet_sim.core.routes import NoRoute, Route
from fleet_sim.traffic.router import Router
from fleet_sim.traffic.section import offer_routes

__all__ = ["NoRoute", "Route", "Router", "offer_routes"]
