"""cmd_vel_teleop and preempt_teleop: what drives a robot during assisted_teleop, and what ends it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist, TwistStamped
from std_msgs.msg import Empty

from fleet_sim.actions.teleop import TeleopAction
from fleet_sim.arrays import Floats, as_floats
from fleet_sim.config.modes import MotionMode
from fleet_sim.core.commands import Command, FinishActions, SetVelocity
from fleet_sim.entities import drive
from fleet_sim.entities.footprint import footprint_radius
from fleet_sim.errors import InvalidValueError
from fleet_sim.ros import qos
from fleet_sim.ros.cmd_vel import check_frame
from fleet_sim.ros.conversions import twists_from_msgs
from fleet_sim.ros.interface import Bridge
from fleet_sim.ros.nav2.costmaps import clearances
from fleet_sim.ros.nav2.maps import RobotMaps
from fleet_sim.ros.polled import PolledTopic
from fleet_sim.ros.roster import Roster
from fleet_sim.sensors import OccupancyGrid
from fleet_sim.sensors.occupancy import OCCUPIED
from fleet_sim.spatial import quaternions
from fleet_sim.spatial import trigonometry as trig

CYCLE = 10.0
"""How often per second it looks ahead, as Nav2's behavior server."""
LOOK_AHEAD = 1.0
"""How far it looks ahead, in s; farther where the robot needs longer to stop."""
FASTEST = 10.0
"""In m/s; and how far it looks at most, in m."""
BRAKING = 0.5
"""The part of a robot's acceleration that it counts on for braking."""
EARLIEST = 0.5
"""How long before the action a velocity may come, in s, where velocities have no timeout."""
Motion = tuple[Floats, Floats]
"""Linear (3,) and angular (3,) velocity in the frame of the base."""


class TeleopTopics:
    """Gives robots in an assisted_teleop the velocities that they are sent, slowed down before obstacles.

    The last velocity holds until the next one, as in Nav2. Outside of the action both topics are ignored, but for
    velocities that come just before it begins.
    """

    def __init__(self, bridge: Bridge, maps: RobotMaps) -> None:
        self._bridge = bridge
        self._maps = maps
        kind = TwistStamped if bridge.params.cmd_vel_type == "twist_stamped" else Twist
        self._twists = PolledTopic(bridge, kind, "cmd_vel_teleop", qos.COMMAND)
        self._ends = PolledTopic(bridge, Empty, "preempt_teleop", qos.COMMAND)
        self._wanted: dict[str, Motion] = {}
        self._early: dict[str, tuple[float, Motion]] = {}
        """Velocities for robots without the action, and when they came."""
        self._times = bridge.sim.clock.schedule(CYCLE)

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow the robots of the fleet."""
        self._twists.on_fleet_changed(roster)
        self._ends.on_fleet_changed(roster)

    def receive(self) -> None:
        """Take what has arrived, and drive on."""
        self._take_early()
        for index, message in self._twists.take():
            name = self._twists.names[index]
            twist = self._checked(name, message)
            if twist is None:
                continue
            if self._is_teleoperated(name):
                self._wanted[name] = twist
            else:
                # The goal may have been accepted just now, and begins in one of the next steps.
                self._early[name] = (self._bridge.sim.clock.time, twist)
        # After the velocities: an end wins over those that came with it.
        for index, _ in self._ends.take():
            name = self._ends.names[index]
            if self._is_teleoperated(name):
                make = partial(FinishActions, names=(name,), source="preempt_teleop")
                self._bridge.gateway.take(f"{name}/preempt_teleop", make)
        if self._times.poll() is not None:
            # Robots whose action has ended are forgotten.
            self._wanted = {name: wanted for name, wanted in self._wanted.items() if self._is_teleoperated(name)}
            for name, wanted in self._wanted.items():
                self._bridge.gateway.take(f"{name}/cmd_vel_teleop", partial(self._driving, name, wanted))

    def _take_early(self) -> None:
        """Take what came shortly before its action began, and forget what is older than a velocity may be."""
        lasts = self._bridge.params.cmd_vel_timeout or EARLIEST
        for name, (time, twist) in list(self._early.items()):
            if self._is_teleoperated(name):
                del self._early[name]
                self._wanted[name] = twist
            elif self._bridge.sim.clock.time > time + lasts:
                del self._early[name]

    def _is_teleoperated(self, name: str) -> bool:
        world = self._bridge.sim.world
        return world.index.has_name(name) and isinstance(
            world.actions.current(world.index.row_named(name)), TeleopAction
        )

    def _checked(self, name: str, message: Any) -> Motion | None:
        """Return the velocity of a message, or None where it is rejected."""
        try:
            if hasattr(message, "header"):
                check_frame(self._bridge, name, message.header.frame_id)
            linear, angular = twists_from_msgs([getattr(message, "twist", message)])
            return as_floats(linear[0], (3,), "linear velocity"), as_floats(angular[0], (3,), "angular velocity")
        except InvalidValueError as error:
            self._bridge.reject(f"{name}/cmd_vel_teleop", error)
            return None

    def _driving(self, name: str, wanted: Motion) -> Command:
        """Return the command that drives the robot as it is wanted, as far as that is safe."""
        world = self._bridge.sim.world
        row = world.index.row_named(name)
        linear, angular = wanted[0].copy(), wanted[1]
        if world.laws.names()[int(world.motion.law[row])] != MotionMode.OMNIDIRECTIONAL.value:
            # Such a robot would not move aside either.
            linear[1:] = 0.0
        fastest, brakes = drive.limits_ahead(world, row)
        brakes *= BRAKING
        # v^2 = 2 a s: it looks FASTEST m ahead at most, and must be able to stop in that.
        fastest = min(fastest, FASTEST, math.sqrt(2.0 * brakes * FASTEST))
        speed = math.sqrt(float((linear[:2] ** 2).sum()))
        share = min(1.0, fastest / speed) if speed > 0.0 else 1.0
        linear, speed = share * linear, share * speed
        if speed > 0.0:
            kept = self._safe_share(row, linear, share * float(angular[2]), speed, brakes)
            linear, share = kept * linear, kept * share
        # The turn is slowed down as the speed is, so that the robot stays on its curve.
        return SetVelocity(
            names=(name,), linear=linear[None], angular=share * angular[None], timeout=0.0, source="cmd_vel_teleop"
        )

    def _safe_share(self, row: int, linear: Floats, turn: float, speed: float, brakes: float) -> float:
        """Return by how much to slow down, from 0 to 1, for what is on the way."""
        world = self._bridge.sim.world
        reach = speed * max(LOOK_AHEAD, speed / (2.0 * brakes))
        radius = footprint_radius(world, row)
        # The map around it, with room for the disc at the end of the way.
        grid = self._maps.occupied_around(row, 2.0 * (reach + radius + 1.0))
        steps = max(2, math.ceil(2.0 * reach / grid.resolution))
        way = projected(world.position[row, :2], quaternions.yaw_of(world.orientation, row), linear, turn, reach, steps)
        free = free_length(grid, way, radius, reach / steps)
        # Nothing ahead, or nothing free at all.
        if free >= reach or free <= 0.0:
            return float(free > 0.0)
        return min(1.0, free / (speed * LOOK_AHEAD), math.sqrt(2.0 * brakes * free) / speed)


def projected(start: Floats, yaw: float, linear: Floats, turn: float, reach: float, steps: int) -> Floats:
    """Return points (steps + 1, 2) of the way of `reach` m from `start` (2,) that a constant twist drives."""
    speed = math.sqrt(float((linear[:2] ** 2).sum()))
    # In the middle of each step, as the heading changes within it.
    headings = yaw + turn * (reach / speed) * (np.arange(steps) + 0.5) / steps
    sine, cosine = trig.sin_cos(headings)
    x, y = linear[:2] / speed
    shifts = np.stack((cosine * x - sine * y, sine * x + cosine * y), axis=1) * (reach / steps)
    return np.concatenate((start[None], start + np.cumsum(shifts, axis=0)))


def free_length(grid: OccupancyGrid, way: Floats, radius: float, step: float) -> float:
    """Return how far in m a disc of `radius` m may go along the points of `way` (N, 2), `step` m apart.

    A disc that is too near to an obstacle already may go where it does not come nearer.
    """
    away = clearances(grid.cells == OCCUPIED, grid.resolution, radius + 2.0 * grid.resolution)
    columns, lines = grid.cells_at(way).T
    distances = away[lines, columns]
    # Distances are those of the middles of cells.
    near_mask = distances < min(radius + grid.resolution, float(distances[0]))
    blocked = np.flatnonzero(near_mask)
    return step * float(max(blocked[0] - 1, 0)) if len(blocked) else step * (len(way) - 1)
