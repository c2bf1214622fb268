"""<robot>/plan: the path each robot follows, published when it changes."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path

from fleet_sim.arrays import Floats
from fleet_sim.ros import qos
from fleet_sim.ros.conversions import poses_to_msgs, time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim.ros.per_robot import publishers
from fleet_sim.ros.roster import Roster


class PlanTopic(Interface):
    """Publishes a path in the map frame, from its robot to the last waypoint, an empty one at its end; latched.

    On <robot>/plan, a nav_msgs/Path. Viewers draw nothing for a path of one pose, so the position of the robot comes
    first. `ros.rates.plan` says how often paths are compared; only those that changed are sent.
    """

    rate = "plan"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._publishers = publishers(bridge, "state", Path, "plan", qos.LATCHED)
        self._published: dict[str, bytes] = {}

    def on_fleet_changed(self, roster: Roster) -> None:
        """Follow robots that were added and removed."""
        self._publishers.on_fleet_changed(roster)
        # Forgotten with its robot, or a new one of that name would publish nothing at first.
        kept = set(self._publishers.names)
        self._published = {name: points for name, points in self._published.items() if name in kept}

    def publish(self, now: int) -> None:
        """Publish the path of each robot whose path has changed, an empty one where it has ended."""
        world, publishers = self.bridge.sim.world, self._publishers
        rows = publishers.rows
        if not len(rows):
            return
        paths = world.waypoints.paths(world.motion, rows)
        ends = np.cumsum(paths.lengths).tolist()
        busy_mask = paths.lengths > 0
        # Those whose path has just ended, too: they publish an empty one.
        busy_mask |= np.array([bool(self._published.get(name)) for name in publishers.names], np.bool_)
        for index in np.flatnonzero(busy_mask).tolist():
            name = publishers.names[index]
            own = slice(ends[index] - int(paths.lengths[index]), ends[index])
            positions, orientations = paths.positions[own], paths.orientations[own]
            # A copy that is compared in one go; the pool itself moves paths and reuses their place.
            content = positions.tobytes() + orientations.tobytes()
            if content == self._published.get(name, b""):
                continue
            self._published[name] = content
            if content:
                row = rows[index]
                positions = np.vstack([world.position[row], positions])
                orientations = np.vstack([world.orientation[row], orientations])
            publishers.items[index].publish(self._message(positions, orientations, now))

    def _message(self, positions: Floats, orientations: Floats, now: int) -> Path:
        message = Path()
        message.header.frame_id = self.bridge.frames.map
        message.header.stamp = time_to_msg(now)
        message.poses = [
            PoseStamped(header=message.header, pose=pose) for pose in poses_to_msgs(positions, orientations)
        ]
        return message
