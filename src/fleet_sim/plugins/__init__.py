"""Code of users that runs with a simulation: the base class of plugins, and sections of a scenario for it."""

from fleet_sim.plugins.sim_plugin import SimPlugin as SimPlugin

__all__ = ["SimPlugin"]
