"""Quality of service of each kind of topic."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, qos_profile_sensor_data

COMMAND = QoSProfile(depth=1)
"""Commands to one robot: reliable, and only the last one counts."""

FLEET_COMMAND = QoSProfile(depth=100)
"""Commands to the fleet: reliable, each one counts."""

STATE = QoSProfile(depth=10)
"""State of one robot or of the fleet."""

TF = QoSProfile(depth=100)
"""As tf2 has it."""

STATIC_TF = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""As tf2 has it, of several publishers."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""What late joiners get at once."""

SENSOR = qos_profile_sensor_data
"""Readings of sensors, as is usual: best effort, since a newer one is better than an old one."""

CLOCK = QoSProfile(depth=1)
"""Only the newest time counts; reliable, so that subscribers of either kind get it."""

REQUESTS = QoSProfile(history=HistoryPolicy.KEEP_ALL)
"""Goals and requests for their results: a thousand may come at once, and none may be lost."""
