"""Messages that buffers know how to transform, and the registration of others."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import (
    Point32,
    PolygonStamped,
    Pose,
    PoseWithCovarianceStamped,
    Quaternion,
    TransformStamped,
)
from rclpy.time import Time
from sensor_msgs.msg import PointCloud2, PointField
from sensor_msgs_py import point_cloud2
from std_msgs.msg import Header
from tf2_geometry_msgs import do_transform_pose
from tf2_ros import Buffer, ConvertRegistration, TypeException, convert
from tf2_sensor_msgs.tf2_sensor_msgs import do_transform_cloud


@pytest.fixture
def buffer() -> Buffer:
    """`base` is at (1, 0, 0) in `map`, and turned left by a quarter."""
    found = TransformStamped(header=Header(frame_id="map"), child_frame_id="base")
    found.transform.translation.x = 1.0
    found.transform.rotation.z = found.transform.rotation.w = math.sqrt(0.5)
    buffer = Buffer()
    buffer.set_transform_static(found, "test")
    return buffer


def test_a_covariance_turns_with_its_pose(buffer: Buffer) -> None:
    pose = PoseWithCovarianceStamped(header=Header(frame_id="base"))
    pose.pose.pose.position.x = 2.0
    covariance = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    covariance[0, 1] = covariance[1, 0] = 0.5
    pose.pose.covariance = covariance.ravel()
    found = buffer.transform(pose, "map")
    position = found.pose.pose.position
    assert (position.x, position.y) == pytest.approx((1.0, 2.0)) and found.header.frame_id == "map"
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    both = np.kron(np.eye(2), turn)
    assert np.reshape(found.pose.covariance, (6, 6)) == pytest.approx(both @ covariance @ both.T)


def test_a_polygon(buffer: Buffer) -> None:
    polygon = PolygonStamped(header=Header(frame_id="base"))
    polygon.polygon.points = [Point32(x=1.0), Point32(y=1.0)]
    found = buffer.transform(polygon, "map").polygon.points
    assert [(p.x, p.y) for p in found] == [pytest.approx((1.0, 1.0)), pytest.approx((0.0, 0.0))]


@pytest.mark.parametrize("big_endian", [False, True])
def test_a_cloud_keeps_its_other_fields(buffer: Buffer, big_endian: bool) -> None:
    kinds = [("x", PointField.FLOAT32), ("y", PointField.FLOAT32), ("z", PointField.FLOAT32)]
    fields = [PointField(name=n, offset=4 * i, datatype=t, count=1) for i, (n, t) in enumerate(kinds)]
    fields.append(PointField(name="ring", offset=12, datatype=PointField.UINT16, count=1))
    cloud: PointCloud2 = point_cloud2.create_cloud(
        Header(frame_id="base"), fields, [(1.0, 0.0, 5.0, 7), (0.0, 2.0, 6.0, 8)]
    )
    if big_endian:
        cloud.data = point_cloud2.read_points(cloud).byteswap().tobytes()
        cloud.is_bigendian = True
    found = buffer.transform(cloud, "map")
    points = point_cloud2.read_points(found)
    assert points["x"] == pytest.approx([1.0, -1.0], abs=1e-6)
    assert points["y"] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert points["z"].tolist() == [5.0, 6.0] and points["ring"].tolist() == [7, 8]
    assert point_cloud2.read_points(cloud)["x"].tolist() == [1.0, 0.0]


def small_cloud() -> PointCloud2:
    cloud: PointCloud2 = point_cloud2.create_cloud_xyz32(Header(frame_id="base"), [(1.0, 2.0, 3.0)])
    cloud.header.stamp.sec = 7
    return cloud


def test_a_cloud_keeps_its_stamp(buffer: Buffer) -> None:
    cloud = small_cloud()
    found = buffer.lookup_transform("map", "base", Time())
    moved = do_transform_cloud(cloud, found)
    assert (moved.header.frame_id, moved.header.stamp.sec) == ("map", 7)
    plain = do_transform_cloud(cloud, found.transform)
    assert (plain.header.frame_id, plain.header.stamp.sec) == ("base", 7)
    assert plain.data == moved.data and cloud.header.frame_id == "base"
    assert convert(cloud, PointCloud2) == cloud


@pytest.mark.parametrize(
    ("rotation", "expected"), [((0.0, 0.0, 2.0, 2.0), (-1.0, 1.0)), ((0.0, 0.0, 0.0, 0.0), (2.0, 2.0))]
)
def test_rotations_of_any_length_keep_the_scale(
    rotation: tuple[float, ...], expected: tuple[float, float]
) -> None:
    found = TransformStamped()
    found.transform.translation.x = 1.0
    q = found.transform.rotation
    q.x, q.y, q.z, q.w = rotation
    pose = Pose(orientation=Quaternion(w=3.0))
    pose.position.x, pose.position.y = 1.0, 2.0
    moved = do_transform_pose(pose, found)
    assert (moved.position.x, moved.position.y) == pytest.approx(expected)
    turned = moved.orientation
    assert math.hypot(turned.x, turned.y, turned.z, turned.w) == pytest.approx(1.0)
    pose.orientation.w = -3.0  # the same rotation
    assert do_transform_pose(pose, found) == moved and turned.w > 0
    (point,) = point_cloud2.read_points_numpy(do_transform_cloud(small_cloud(), found))
    assert point == pytest.approx((*expected, 3.0))


def test_the_latest_common_time_compares_with_a_plain_time(buffer: Buffer) -> None:
    moving = TransformStamped(header=Header(frame_id="map"), child_frame_id="robot")
    moving.header.stamp.sec = 1
    buffer.set_transform(moving, "test")
    assert buffer.get_latest_common_time("map", "robot") == Time(seconds=1)


def test_conversions_are_registered() -> None:
    registration = ConvertRegistration()
    registration.add_to_msg(complex, lambda number: Point32(x=number.real, y=number.imag))
    assert registration.get_to_msg(complex)(1 + 2j).y == 2.0
    with pytest.raises(TypeException):
        registration.get_from_msg(complex)
