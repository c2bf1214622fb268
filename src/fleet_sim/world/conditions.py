"""Conditions of robots: what disturbs them at present, as all who drive them or tell of them read it.

Disturbances write the columns, by whatever kind they are; readers ask for the columns and for no kind. There are none
before something is disturbed.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints
from fleet_sim.base.params import Mode
from fleet_sim.world.columns import FeatureColumns, column
from fleet_sim.world.world import World

CONDITIONS = "disturbances"
"""The name of their table, and of the feature that writes it."""


class OperatingMode(Mode):
    """Who commands a robot, as in VDA 5050; the codes are those of fleet_sim_msgs/msg/RobotState."""

    AUTOMATIC = "automatic"
    SEMIAUTOMATIC = "semiautomatic"
    MANUAL = "manual"
    SERVICE = "service"
    TEACHIN = "teachin"


class EmergencyStop(Mode):
    """How an emergency stop is released, as in VDA 5050: by itself, at the vehicle, or from afar."""

    NONE = "none"
    AUTOACK = "autoack"
    MANUAL = "manual"
    REMOTE = "remote"


class RobotError(NamedTuple):
    """What a robot tells its fleet manager of a fault.

    `kind` is a name such as battery_fault, `level` warning, urgent, critical or fatal, `references` what it is about.
    """

    kind: str
    level: str
    description: str
    references: tuple[tuple[str, str], ...] = ()


class ConditionColumns(FeatureColumns):
    """What disturbs each robot at present. Defaults are those of an undisturbed one; `version` counts changes."""

    version = 0

    spared: Bools = column(bool, writer="spawning", doc="no disturbance chooses it")
    faults: Ints = column(np.int64, writer="disturbances", doc="sum of FAULTS")
    operating_mode: Bytes = column(np.uint8, writer="disturbances", doc="an OperatingMode")
    emergency_stop: Bytes = column(np.uint8, writer="disturbances", doc="an EmergencyStop")
    halted: Bools = column(bool, writer="disturbances", doc="may not drive")
    pace: Floats = column(float, default=1.0, writer="disturbances", doc="of its speed limit, 0 to 1")
    silent: Bools = column(bool, writer="disturbances", doc="sends nothing, and nothing reaches it")
    charge_error: Floats = column(float, writer="disturbances", doc="charge that it tells, less the true one, -1 to 1")


def conditions_of(world: World) -> ConditionColumns | None:
    """Return the conditions of robots; None as long as nothing was disturbed."""
    table = world.tables.get(CONDITIONS)
    return None if table is None else cast(ConditionColumns, table)
