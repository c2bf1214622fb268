"""Settings of the `ros` section, each other than usual: the node does what they say."""

from __future__ import annotations

from pathlib import Path

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from node_program import LATCHED, running

SCENARIO = """
simulation: {timestep: 0.05, target_rtf: 5.0, gui: false}
robots:
  - {name: amr, pose: [0, 0, 0.15], shape: {shape_type: box, half_extents: [0.3, 0.2, 0.15]}}
objects:
  - {name: low, pose: [3, 0, 0.25], shape: {shape_type: box, half_extents: [0.5, 0.5, 0.25]}, collision_mode: static}
  - {name: high, pose: [-3, 0, 1.5], shape: {shape_type: box, half_extents: [0.5, 0.5, 1.5]}, collision_mode: static}
ros: {cmd_vel_type: twist_stamped, map_resolution: 0.25, map_height: 1.0}
"""


def test_maps_and_velocities_are_as_set(tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text(SCENARIO)
    with running(tmp_path / "node.log", "-p", f"config:={tmp_path / 'node.yaml'}") as (_, client):
        maps = client.listen(OccupancyGrid, "/map", LATCHED)
        client.until(lambda: maps, "a map")
        grid = maps[-1]
        assert grid.info.resolution == 0.25
        filled = [index for index, value in enumerate(grid.data) if value == 100]
        columns = {grid.info.origin.position.x + 0.25 * (index % grid.info.width) for index in filled}
        assert columns and max(columns) < 0.0, "the low box is below the cut"
        odometry = client.listen(Odometry, "/amr/odom")
        message = TwistStamped()
        message.twist.linear.x = 0.5
        client.publisher(TwistStamped, "/amr/cmd_vel").publish(message)
        client.until(lambda: odometry and odometry[-1].twist.twist.linear.x > 0.1, "a robot that drives")
