"""Conditions of robots: what disturbs them at present, as all who drive them or tell of them read it.

Disturbances write the columns, by whatever kind they are; readers ask for the columns and for no kind. There are none
before something is disturbed.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from fleet_sim.base.arrays import Bools, Bytes, Floats, Ints, Rows
from fleet_sim.base.params import Mode
from fleet_sim.world.clock import uniforms
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
    cause: Bytes = column(np.uint8, writer="disturbances", doc="an ActionCause: why goals fail where it may not")
    pace: Floats = column(float, default=1.0, writer="disturbances", doc="of its speed limit, 0 to 1")
    silent: Bools = column(bool, writer="disturbances", doc="sends nothing, and nothing reaches it")
    charge_error: Floats = column(float, writer="disturbances", doc="charge that it tells, less the true one, -1 to 1")
    uncharged: Bools = column(bool, writer="disturbances", doc="takes no charge")
    failure: Floats = column(float, writer="disturbances", doc="probability that an action fails")
    failures: Ints = column(np.int64, writer="action_fails", doc="how many actions failed so")
    failures_until: Ints = column(np.int64, default=-1, writer="disturbances", doc="at which none fails more, -1: any")
    acts: Ints = column(np.int64, writer="action_fails", doc="actions begun while some may fail")
    boots: Ints = column(np.int64, writer="disturbances", doc="how often it was switched on again")


FAILED = "a disturbance made it fail"


def action_fails(world: World, row: int) -> bool:
    """Return whether the action that the robot in `row` is about to do fails; asked once for each."""
    table = conditions_of(world)
    if table is None or table.failure[row] <= 0.0 or 0 <= table.failures_until[row] <= table.failures[row]:
        return False
    # A function of who and how many there were: what others do changes nothing.
    ids, count = world.object_id[row : row + 1], int(table.acts[row])
    table.acts[row] += 1
    fails = bool(uniforms(world.random.key("actions that fail"), ids, count)[0] < table.failure[row])
    table.failures[row] += fails
    return fails


def conditions_of(world: World) -> ConditionColumns | None:
    """Return the conditions of robots; None as long as nothing was disturbed."""
    table = world.tables.get(CONDITIONS)
    return None if table is None else cast(ConditionColumns, table)


def told_charge(world: World, rows: Rows, charge: Floats, full: Floats | float = 1.0) -> Floats:
    """Return the charges (N,) that `rows` tell of their batteries: the true `charge` of `full`, where that is right."""
    table = conditions_of(world)
    return charge if table is None else np.clip(charge + table.charge_error[rows] * full, 0.0, full)
