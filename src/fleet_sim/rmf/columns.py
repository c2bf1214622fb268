"""The columns of slotcars."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.core.columns import FeatureColumns, column


class SlotcarColumns(FeatureColumns):
    """Where each slotcar is on its path, what it does, and how it drives."""

    mode: Bytes = column(np.uint8, default=2, writer="Slotcars", doc="a SlotcarMode")
    mode_request: Ints = column(np.int64, writer="SetSlotcarMode", doc="number of the latest request for a mode")
    pause: Bytes = column(np.uint8, default=2, writer="PauseSlotcar", doc="a Pause")
    pause_request: Ints = column(np.int64, writer="PauseSlotcar", doc="number of the latest request to pause")
    checkpoint: Ints = column(np.int64, writer="PauseSlotcar", doc="index of the waypoint from which on it is paused")
    has_path: Bools = column(bool, writer="FollowWaypoints", doc="drives, or turns to the yaw of its last waypoint")
    at_end: Bools = column(bool, writer="Slotcars", doc="has passed all waypoints, and only turns")
    error: Bools = column(bool, writer="FollowWaypoints", doc="the latest path began too far away")
    rotating: Bools = column(bool, writer="Slotcars", doc="turned at a waypoint where it is paused")
    next_index: Ints = column(
        np.int64, writer="Slotcars", doc="index of the waypoint it drives to, as the path says it"
    )
    target: Floats = column(float, (2,), unit="m", frame="world", writer="Slotcars", doc="where it drives to")
    target_yaw: Floats = column(float, unit="rad", frame="world", writer="Slotcars", doc="yaw of that waypoint")
    limit: Floats = column(float, default=np.inf, unit="m/s", writer="Slotcars", doc="on the way there")
    level: Ints = column(
        np.int64, default=-1, writer="Slotcars", doc="number of the level it was on last, -1: none yet"
    )
    sequence: Ints = column(np.int64, writer="the interface", doc="number of the state that was published last")

    speed: Floats = column(float, default=0.5, unit="m/s", writer="spawning")
    acceleration: Floats = column(float, default=0.25, unit="m/s2", writer="spawning")
    max_acceleration: Floats = column(float, default=0.75, unit="m/s2", writer="spawning")
    turn_speed: Floats = column(float, default=0.6, unit="rad/s", writer="spawning")
    turn_acceleration: Floats = column(float, default=1.5, unit="rad/s2", writer="spawning")
    max_turn_acceleration: Floats = column(float, default=2.0, unit="rad/s2", writer="spawning")
    stop_distance: Floats = column(float, default=0.75, unit="m", writer="spawning")
    stop_radius: Floats = column(float, default=0.75, unit="m", writer="spawning")
    reversible: Bools = column(bool, writer="spawning")
