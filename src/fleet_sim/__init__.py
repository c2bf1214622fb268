"""fleet_sim: simulate fleets of robots, thousands at a time, with or without ROS 2."""

__version__ = "0.1.0"
