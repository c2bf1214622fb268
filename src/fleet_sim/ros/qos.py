"""QoS profiles of each kind of topic."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, qos_profile_sensor_data

COMMAND = QoSProfile(depth=1)
"""Commands to one robot: reliable, depth 1, because only the last one is used."""

FLEET_COMMAND = QoSProfile(depth=100)
"""Commands to the fleet: reliable, because each one is used."""

STATE = QoSProfile(depth=10)
"""State of one robot or of the fleet."""

TF = QoSProfile(depth=100)
"""As tf2 has it."""

STATIC_TF = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""As tf2 has it, of several publishers."""

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Latched: late joiners get the last message at once."""

ORDERS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Orders: late joiners get what was told last, a thousand may be new at once, and none may be lost."""

SENSOR = qos_profile_sensor_data
"""Sensor readings: best effort, as usual, because a newer reading replaces an old one."""

CLOCK = QoSProfile(depth=1)
"""Only the latest time is needed; reliable, so that reliable and best-effort subscribers get it."""

REQUESTS = QoSProfile(history=HistoryPolicy.KEEP_ALL)
"""Goals and result requests: a thousand may arrive at once, and none may be lost."""
