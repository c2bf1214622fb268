"""/map: an occupancy grid of static entities, at the height of the lidars."""

from __future__ import annotations

from array import array

from nav_msgs.msg import OccupancyGrid as OccupancyGridMsg

from fleet_sim.ros import qos
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface, speaks_rmf
from fleet_sim.sensors import OccupancyGrid, occupancy_grid
from fleet_sim.sensors.occupancy import immovable_rows

HEIGHT = 0.2
"""Height of the map in m if there is no lidar."""


def grid_to_msg(grid: OccupancyGrid, frame: str, now: int) -> OccupancyGridMsg:
    """Return a grid as a message."""
    message = OccupancyGridMsg()
    message.header.frame_id = frame
    message.header.stamp = message.info.map_load_time = time_to_msg(now)
    message.info.resolution = grid.resolution
    message.info.height, message.info.width = grid.cells.shape
    message.info.origin.position.x, message.info.origin.position.y = grid.origin
    # As an array: of other sequences rclpy checks every single cell in Python.
    message.data = array("b", grid.cells.tobytes())
    return message


class MapTopic(Interface):
    """Publishes the map when it gets a subscriber, and again when it has changed; latched. Not beside Open-RMF's.

    On map, an OccupancyGrid of what does not move, with cells of `ros.map_resolution` m, cut at `ros.map_height` or at
    the height of the first lidar. Cells get larger, with a warning, where they would be too many.
    """

    rate = "map"

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        # There /map is a map of the building; a topic has one type.
        self._is_offered = not speaks_rmf(bridge)
        if self._is_offered:
            self._publisher = bridge.robots.create_publisher(OccupancyGridMsg, "map", qos.LATCHED)
        self._shown: tuple[object, ...] = ()
        self._told = False

    def publish(self, now: int) -> None:
        """Publish the map while somebody is subscribed, when what does not move has changed."""
        if not self._is_offered or not self._publisher.get_subscription_count():
            return
        world, params = self.bridge.sim.world, self.bridge.params
        rows = immovable_rows(world)
        height = map_height(self.bridge)
        # As bytes, which are compared in one go.
        poses = world.position[rows].tobytes() + world.orientation[rows].tobytes()
        # Compared instead of the grid itself, which takes long to compute.
        content = (world.object_id[rows].tobytes(), poses, height)
        if content != self._shown:
            self._shown = content
            grid = occupancy_grid(world, resolution=params.map_resolution, z=height, coarsen=True)
            if grid.resolution > params.map_resolution and not self._told:
                self._told = True
                self.bridge.node.get_logger().warning(
                    f"map: cells of {params.map_resolution:g} m would be too many here; they are {grid.resolution:g} m"
                )
            self._publisher.publish(grid_to_msg(grid, self.bridge.frames.map, now))


def map_height(bridge: Bridge) -> float:
    """Return the height in m at which the map is cut."""
    if bridge.params.map_height is not None:
        return float(bridge.params.map_height)
    lidars = [sensor for sensor in bridge.sim.sensors.all if sensor.type == "lidar"]
    # The first lidar: maps for lidars of several heights would be several maps.
    return float(lidars[0].get_pose().position[2]) if lidars else HEIGHT
