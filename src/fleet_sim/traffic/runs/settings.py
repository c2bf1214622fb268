"""The settings of the robots of a run."""

from __future__ import annotations

from dataclasses import dataclass

from fleet_sim.settings import Checked, setting


@dataclass
class FleetSettings(Checked):
    """The robots of a run, all alike: round, with a differential drive."""

    radius: float = setting(0.3, above=0.0, high=100.0, unit="m", doc="Radius of a robot.")
    speed: float = setting(2.0, above=0.0, high=100.0, unit="m/s", doc="Speed limit of a robot.")
    acceleration: float = setting(2.0, above=0.0, high=1000.0, unit="m/s^2", doc="Acceleration limit.")
    turn_speed: float = setting(3.0, above=0.0, high=100.0, unit="rad/s", doc="Speed limit of turning on the spot.")
    turn_acceleration: float = setting(6.0, above=0.0, high=1000.0, unit="rad/s^2", doc="Its acceleration limit.")
    backwards: bool = setting(False, doc="Whether robots drive backwards where that saves half a turn.")
    timestep: float = setting(0.1, low=0.001, high=1.0, unit="s", doc="Simulated time of a step.")
    margin: float = setting(0.02, low=0.0, high=1.0, unit="m", doc="What comes nearer than this has collided.")
    deadlock_after: float = setting(
        30.0, low=0.1, high=1e6, unit="s", doc="A standstill of all robots that lasts so long is a deadlock."
    )
