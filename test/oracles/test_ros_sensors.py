"""What topics of lidars, range sensors and cameras say, and maps and markers: rays and pinholes by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle_rows import holds

pytest.importorskip("rclpy")

from plain_geometry import Post, matrix, nearest, vector
from ros_domain import use_own_domain
from ros_scene import KERB, LENS, LOAD, POST, RADIUS, SHELF, WALL, RosScene, ros_scene

use_own_domain()

STAMP = "header.stamp.sec", "header.stamp.nanosec"


@pytest.fixture(scope="module")
def scene(tmp_path_factory: Any) -> Iterator[RosScene]:
    with ros_scene(tmp_path_factory.mktemp("scene"), 0.05) as made:
        yield made


def bodies(scene: RosScene, stamp: int) -> list[Any]:
    """Return what the omnidirectional robot can see; all else is farther away than its sensors reach."""
    robots = [Post(scene.truth[stamp].places[name], RADIUS, 0.4) for name in ("stuck", "bumper", "hauler")]
    return [WALL, SHELF, POST, KERB, *robots]


def some(scene: RosScene) -> list[int]:
    """Return the stamps of a few steps, from the first on."""
    return scene.stamps[::9]


@holds(
    *(f"ros:sensor_msgs/LaserScan.{field}" for field in (*STAMP, "angle_min", "angle_max", "angle_increment")),
    *(
        f"ros:sensor_msgs/LaserScan.{field}"
        for field in ("ranges", "intensities", "range_min", "range_max", "scan_time")
    ),
    fault="ros/sensors.py: the angle of the last ray but one",
)
def test_a_scan_is_what_rays_meet(scene: RosScene) -> None:
    seen = 0
    for stamp in some(scene):
        message = scene.at("/omni/scan", stamp)
        count = len(message.ranges)
        assert count == len(message.intensities) == 90
        # Between two directions that are no full turn apart, with a ray at each of them.
        assert (message.angle_min, message.angle_max) == pytest.approx((-1.3, 2.1))
        assert message.angle_increment == pytest.approx(3.4 / 89)
        assert (message.range_min, message.range_max) == pytest.approx((0.05, 9.0))
        assert message.scan_time == pytest.approx(scene.timestep)
        origin, turn = scene.mounted("scan", stamp)
        for index in range(count):
            angle = -1.3 + index * 3.4 / 89
            along = turn @ np.array([math.cos(angle), math.sin(angle), 0.0])
            distance, normal = nearest(bodies(scene, stamp), origin, along)
            if distance > 9.0:
                assert message.ranges[index] == math.inf
                continue
            assert message.ranges[index] == pytest.approx(distance, rel=1e-5)
            assert message.intensities[index] == pytest.approx(-float(normal @ along), abs=1e-4)
            seen += 1
    assert seen > 100


@holds(
    *(f"ros:sensor_msgs/Range.{field}" for field in (*STAMP, "range", "field_of_view", "min_range", "max_range")),
    "ros:sensor_msgs/Range.radiation_type",
    fault="ros/sensors.py: 1.02 times as far",
)
def test_a_range_is_the_nearest_in_a_fan(scene: RosScene) -> None:
    seen = 0
    for stamp in scene.stamps:
        message = scene.at("/omni/range", stamp)
        assert (message.field_of_view, message.min_range, message.max_range) == pytest.approx((0.4, 0.0, 8.0))
        assert message.radiation_type == 0  # ultrasound
        origin, turn = scene.mounted("range", stamp)
        angles = np.linspace(-0.2, 0.2, 101)
        rays = [turn @ np.array([math.cos(angle), math.sin(angle), 0.0]) for angle in angles.tolist()]
        distance = min(nearest(bodies(scene, stamp), origin, ray)[0] for ray in rays)
        if math.isfinite(message.range) or distance < 7.9:
            assert message.range == pytest.approx(distance, rel=1e-5)
            seen += 1
    assert seen > 10


@holds(
    *(f"ros:sensor_msgs/PointCloud2.{field}" for field in (*STAMP, "height", "width", "point_step", "row_step")),
    *(f"ros:sensor_msgs/PointCloud2.{field}" for field in ("fields.offset", "fields.datatype", "data")),
    fault="ros/sensors.py: layers from the top; ros/sensors.py: rows from the bottom",
)
def test_points_of_a_lidar_are_on_what_it_sees(scene: RosScene) -> None:
    seen = 0
    for stamp in some(scene):
        message = scene.at("/omni/points", stamp)
        assert (message.height, message.width, message.point_step, message.row_step) == (4, 9, 12, 108)
        assert [(field.name, field.offset, field.datatype) for field in message.fields] == [
            (name, 4 * index, 7) for index, name in enumerate("xyz")
        ]
        points = np.frombuffer(bytes(message.data), "<f4").reshape(4, 9, 3)
        origin, turn = scene.mounted("points", stamp)
        for layer in range(4):
            for ray in range(9):
                rise, angle = -0.2 + layer * 0.5 / 3, -1.1 + ray * 2.4 / 8
                along = np.array([math.cos(rise) * math.cos(angle), math.cos(rise) * math.sin(angle), math.sin(rise)])
                distance = nearest(bodies(scene, stamp), origin, turn @ along)[0]
                if distance < 12.0:
                    assert points[layer, ray] == pytest.approx(distance * along, abs=1e-4)
                    seen += 1
                elif (turn @ along)[2] > 0.0:
                    assert np.isnan(points[layer, ray]).all()
    assert seen > 20


@holds(
    *(f"ros:sensor_msgs/CameraInfo.{field}" for field in (*STAMP, "height", "width", "k", "p", "r", "d")),
    *(f"ros:sensor_msgs/Image.{field}" for field in (*STAMP, "height", "width", "step", "is_bigendian", "data")),
    "ros:sensor_msgs/PointCloud2.data",
    fault="ros/sensors.py: fx and fy exchanged; blue before red; points in rows from the bottom",
)
def test_each_pixel_of_a_camera_shows_what_is_there(scene: RosScene) -> None:
    fx, fy, cx, cy = LENS
    seen, red = 0, 0
    for stamp in some(scene):
        info = scene.at("/omni/eye/camera_info", stamp)
        assert (info.height, info.width, info.distortion_model, list(info.d)) == (48, 64, "plumb_bob", [0.0] * 5)
        assert np.array(info.k).tolist() == [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
        assert np.array(info.p).tolist() == [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
        assert np.array(info.r).tolist() == np.eye(3).reshape(-1).tolist()
        depth, color = scene.at("/omni/eye/depth/image_raw", stamp), scene.at("/omni/eye/image_raw", stamp)
        cloud = scene.at("/omni/eye/points", stamp)
        assert (depth.height, depth.width, depth.step, depth.encoding, depth.is_bigendian) == (48, 64, 256, "32FC1", 0)
        assert (color.height, color.width, color.step, color.encoding, color.is_bigendian) == (48, 64, 192, "rgb8", 0)
        away = np.frombuffer(bytes(depth.data), "<f4").reshape(48, 64)
        colors = np.frombuffer(bytes(color.data), np.uint8).reshape(48, 64, 3).astype(int)
        points = np.frombuffer(bytes(cloud.data), "<f4").reshape(48, 64, 4)[..., :3]
        origin, turn = scene.mounted("eye", stamp)
        for v in range(0, 48, 5):
            for u in range(0, 64, 7):
                # x of the picture is to the right of the camera, y is down, and depth is straight ahead.
                optical = np.array([(u - cx) / fx, (v - cy) / fy, 1.0])
                along = turn @ np.array([1.0, -optical[0], -optical[1]])
                length = float(np.linalg.norm(along))
                distances = [body.hit(origin, along / length)[0] / length for body in bodies(scene, stamp)]
                first = min(distances)
                # At an outline a pixel shows one thing or the other.
                edge = [
                    nearest(bodies(scene, stamp), origin, turn @ np.array([1.0, -x, -y]) / np.linalg.norm([1.0, x, y]))[
                        0
                    ]
                    for x, y in optical[:2] + [[0.02, 0.0], [-0.02, 0.0], [0.0, 0.02], [0.0, -0.02]]
                ]
                if not math.isfinite(first) or max(edge) > 1.1 * min(edge):
                    continue
                # Balls are drawn with flat faces.
                within = 2e-2 if distances[2] == first else 2e-3
                assert away[v, u] == pytest.approx(first, rel=within)
                assert points[v, u] == pytest.approx(first * optical, rel=within, abs=within)
                seen += 1
                if distances[2] == first:
                    assert colors[v, u, 0] > 2 * colors[v, u, 2] > 0
                    red += 1
    assert seen > 50 and red > 3


@holds(
    *(f"ros:nav_msgs/OccupancyGrid.info.{field}" for field in ("resolution", "width", "height")),
    *(f"ros:nav_msgs/OccupancyGrid.info.origin.position.{axis}" for axis in "xy"),
    "ros:nav_msgs/OccupancyGrid.data",
    fault="ros/monitoring.py: cells begin half a cell later",
)
def test_a_cell_of_the_map_is_occupied_where_its_middle_is_in_a_body(scene: RosScene) -> None:
    (message,) = scene.heard.heard["/map"]
    side, info = message.info.resolution, message.info
    assert side == pytest.approx(0.07)
    cells = np.array(message.data).reshape(info.height, info.width)
    y, x = np.mgrid[: info.height, : info.width]
    middles = np.stack([info.origin.position.x + (x + 0.5) * side, info.origin.position.y + (y + 0.5) * side], -1)
    points = np.concatenate([middles.reshape(-1, 2), np.full((middles[..., 0].size, 1), 0.25)], axis=1)
    away = np.min([body.distance(points) for body in (WALL, SHELF, POST, KERB)], axis=0).reshape(cells.shape)
    # What is in a cell at all makes it occupied, so the middles of free ones are outside of everything.
    assert (cells[away < 0.0] == 100).all() and (away < 0.0).sum() > 500
    # The fixed base of the arm is on the map, too, far from all of them.
    near = np.abs(middles - [0.5, 2.0]).max(axis=-1) < 6.0
    assert (cells[(away > math.sqrt(0.5) * side) & near] == 0).all()


@holds(
    *(f"ros:visualization_msgs/MarkerArray.markers.{field}" for field in (*STAMP, "id", "type")),
    *(f"ros:visualization_msgs/MarkerArray.markers.pose.position.{axis}" for axis in "xyz"),
    *(f"ros:visualization_msgs/MarkerArray.markers.pose.orientation.{axis}" for axis in "xyzw"),
    *(f"ros:visualization_msgs/MarkerArray.markers.scale.{axis}" for axis in "xyz"),
    *(f"ros:visualization_msgs/MarkerArray.markers.color.{channel}" for channel in "rgba"),
    fault="world/shapes.py: width and height exchanged; ros/monitoring.py: orientations of the shapes alone",
)
def test_markers_have_the_places_and_sizes_of_bodies(scene: RosScene) -> None:
    sim = scene.heard.sim
    kinds = {
        "omni": (1, (0.6, 0.4, 0.3), (0.9, 0.4, 0.2, 0.5)),
        "hauler": (3, (2.0 * RADIUS, 2.0 * RADIUS, 0.4), None),
        "wall": (1, tuple(2.0 * WALL.half_extents), (0.3, 0.5, 0.7, 1.0)),
        "post": (2, (2.0 * POST.radius,) * 3, (0.9, 0.1, 0.2, 1.0)),
        "crate": (1, tuple(2.0 * LOAD.half_extents), None),
    }
    ids = {sim.get_object(name).object_id: name for name in kinds}
    checked = set()
    for array in scene.heard.heard["/fleet/markers"]:
        for marker in array.markers:
            name = ids.get(marker.id)
            stamp = marker.header.stamp.sec * 1_000_000_000 + marker.header.stamp.nanosec
            if name is None or marker.action != 0 or "/" in marker.ns or stamp not in scene.truth:
                continue
            kind, size, color = kinds[name]
            assert marker.ns == ("robots" if name in ("omni", "hauler") else "objects")
            assert marker.type == kind and vector(marker.scale) == pytest.approx(size)
            assert vector(marker.pose.position) == pytest.approx(scene.truth[stamp].places[name], abs=1e-9)
            assert matrix(marker.pose.orientation) == pytest.approx(scene.truth[stamp].turns[name], abs=1e-9)
            if color is not None:
                shown = marker.color
                assert (shown.r, shown.g, shown.b, shown.a) == pytest.approx(color)
            checked.add(name)
    assert checked == set(kinds)
