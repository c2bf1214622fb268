"""The columns of robots in the traffic."""

from __future__ import annotations

import numpy as np

from fleet_sim.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.core.columns import FeatureColumns, column

STOPPED, DELAYED, BROKEN, UNFIT, SERVING = 1, 2, 4, 8, 16
"""Reasons to stand, as bits: by command, by a delay, by a breakdown, as it may not drive, at work at its goal."""

FORWARD, BACKWARD, EITHER = 0, 1, 2


class TrafficColumns(FeatureColumns):
    """Where a robot is on its way through the network, and what it waits for.

    A way is a list of nodes: those from `behind` to `granted` are the robot's own at present, those up to `length` are
    planned. The robot is at node `at` of the list, or between it and the next.
    """

    behind: Ints = column(np.int64, writer="traffic", doc="first node of the way that it has not cleared")
    at: Ints = column(np.int64, writer="traffic", doc="node of the way that it passed last")
    granted: Ints = column(np.int64, writer="traffic", doc="last node of the way that it may drive to")
    length: Ints = column(np.int64, writer="traffic", doc="nodes of the way")
    digest: Ints = column(np.int64, writer="traffic", doc="of the planned nodes, and of who passes them before")
    progress: Floats = column(float, unit="m", writer="traffic", doc="beyond the node that it passed last")
    speed: Floats = column(float, unit="m/s", writer="traffic", doc="along its way")
    yaw: Floats = column(float, unit="rad", frame="world", writer="traffic")
    spin: Floats = column(float, unit="rad/s", writer="traffic")
    reversing: Bools = column(bool, writer="traffic", doc="drives backwards")
    place: Floats = column(float, (2,), unit="m", frame="world", writer="traffic", doc="where its law left it")
    round: Ints = column(
        np.int64, default=-1, reference=True, writer="traffic", doc="one of those with which it moves round at once"
    )
    leader: Ints = column(
        np.int64, default=-1, reference=True, writer="traffic", doc="leaves the last node granted to this one"
    )
    gap: Floats = column(float, unit="m", writer="traffic", doc="before that node, where it stops behind the leader")
    halted: Bools = column(bool, writer="traffic", doc="its leader, or one it moved round with, left the traffic there")

    goal: Ints = column(np.int64, default=-1, writer="Traffic.send", doc="node; -1: none was given")
    heading: Floats = column(float, default=np.nan, unit="rad", writer="Traffic.send", doc="at its goal; nan: any")
    arrived: Bools = column(bool, writer="Traffic", doc="stands, or stood, at its goal")
    waiting: Bools = column(bool, writer="traffic", doc="stands, as it may not drive on yet")
    waited: Ints = column(np.int64, unit="tick", writer="traffic", doc="how long it waited in all")
    driven: Floats = column(float, unit="m", writer="traffic", doc="how far it drove in all")

    held: Bytes = column(np.uint8, writer="Traffic, disturbances", doc="reasons to stand, as bits")
    pace: Floats = column(float, default=1.0, writer="disturbances", doc="of its speed limit, 0 to 1")
    until: Ints = column(np.int64, default=-1, unit="tick", writer="disturbances", doc="end of a delay")
    fixed: Ints = column(np.int64, default=-1, unit="tick", writer="disturbances", doc="end of a breakdown")

    wide: Bools = column(bool, writer="TrafficBars.set_wide", doc="keeps off barred nodes, other than its goal")
    wanted: Bools = column(bool, writer="spawning", doc="its spawn entry says that it takes part")
    turns: Bools = column(bool, writer="Traffic.enroll", doc="turns towards where it drives")
    lead: Bytes = column(np.uint8, writer="Traffic.enroll", doc="FORWARD, BACKWARD or EITHER end leads")
    radius: Floats = column(float, unit="m", writer="Traffic.enroll", doc="of its footprint")
    tilt: Floats = column(
        float, (4,), default=(0.0, 0.0, 0.0, 1.0), writer="Traffic.enroll", doc="orientation at yaw 0"
    )
