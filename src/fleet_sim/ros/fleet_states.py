"""/fleet/states: the whole fleet in one message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fleet_sim.arrays import NO_ROWS, Bools, Floats, Rows
from fleet_sim.cdr import ROBOT_STATE, STAMP, MessagePart
from fleet_sim.config.modes import ControllerMode
from fleet_sim.core.schema import NO_ROW
from fleet_sim.core.world import World
from fleet_sim.ros import qos
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.odom import body_twists
from fleet_sim.ros.roster import Roster
from fleet_sim.ros.wire import MessageTemplate
from fleet_sim_msgs.msg import FleetState, RobotState

POSE = ControllerMode.POSE.code


def states_template(map_frame: str, names: Sequence[str]) -> MessageTemplate:
    """Return the template of one FleetState.

    Its groups are sec and nanosec, and for the robots position, orientation, twist (N, 6), distance_left, mode and
    flags (N, 4).
    """
    message = FleetState(robots=[RobotState(name=name) for name in names])
    message.header.frame_id = map_frame
    return MessageTemplate([message], [MessagePart(STAMP), MessagePart(ROBOT_STATE, lambda message: message.robots)])


def distances_left(world: World, rows: Rows) -> Floats:
    """Return the distances (N,) in m to the ends of the paths of `rows`, 0 without one."""
    paths = world.waypoints.paths(world.motion, rows)
    distances = np.zeros(len(rows))
    driving = np.flatnonzero(paths.lengths)
    ends = np.cumsum(paths.lengths)[driving] - 1
    distances[driving] = np.linalg.norm(paths.positions[ends] - world.position[rows[driving]], axis=1)
    return distances


def flags_of(world: World, rows: Rows) -> Bools:
    """Return the flags of ROBOT_STATE, (N, 4)."""
    motion = world.motion
    speed = (world.velocity[rows] != 0.0).any(axis=1) | (world.angular_velocity[rows] != 0.0).any(axis=1)
    # Columns know the carrier of what is carried, not the other way round, so the carriers are marked.
    carriers = np.zeros(world.capacity, np.bool_)
    carriers[world.parent[(world.parent != NO_ROW) & world.alive]] = True
    return np.stack(
        [
            (motion.control[rows] == POSE) | speed,
            world.tables["actions"].waiting[rows] != 0,  # type: ignore[attr-defined]  # ActionColumns
            motion.blocked_by[rows] != NO_ROW,
            carriers[rows],
        ],
        axis=1,
    )


class FleetStatesTopic(Interface):
    """Publishes the states of all robots, whether or not they have interfaces of their own.

    On fleet/states, a FleetState, at `ros.rates.fleet_states` and only while somebody is subscribed. Poses are in the
    frame of the map, twists in that of the robot; distances left are in m. This is the cheapest way to watch a large
    fleet.
    """

    rate = "fleet_states"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publisher = bridge.robots.create_publisher(FleetState, "fleet/states", qos.STATE)
        self._rows = NO_ROWS

    def on_fleet_changed(self, roster: Roster) -> None:
        self._rows = roster.rows
        self._template = states_template(self.bridge.frames.map, roster.names)

    def publish(self, now: int) -> None:
        """Publish the states of all robots in one message, while somebody is subscribed."""
        if not self._publisher.get_subscription_count():
            return
        world, rows, template = self.bridge.sim.world, self._rows, self._template
        template.write_stamp(now)
        if len(rows):
            template.write("position", world.position[rows])
            template.write("orientation", world.orientation[rows])
            template.write("twist", body_twists(world, rows))
            template.write("distance_left", distances_left(world, rows)[:, None])
            template.write("mode", world.motion.control[rows][:, None])
            template.write("flags", flags_of(world, rows))
        self._publisher.publish(template.pieces()[0])
