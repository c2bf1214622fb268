"""Points to messages and back."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import PointCloud2, PointField
from sensor_msgs_py import point_cloud2
from std_msgs.msg import Header

NAN = float("nan")
MIXED = [
    PointField(name="x", offset=0, datatype=PointField.FLOAT32, count=1),
    PointField(name="rgb", offset=4, datatype=PointField.UINT8, count=3),
    PointField(name="", offset=8, datatype=PointField.FLOAT64, count=1),
]


def cloud() -> PointCloud2:
    return point_cloud2.create_cloud_xyz32(Header(frame_id="eye"), [[1, 2, 3], [4, 5, NAN], [7, 8, 9]])


def test_a_cloud_has_the_layout_of_its_points() -> None:
    made = cloud()
    assert (made.header.frame_id, made.height, made.width) == ("eye", 1, 3)
    assert (made.point_step, made.row_step) == (12, 36)
    assert [(field.name, field.offset, field.datatype) for field in made.fields] == [
        ("x", 0, PointField.FLOAT32),
        ("y", 4, PointField.FLOAT32),
        ("z", 8, PointField.FLOAT32),
    ]
    assert bytes(made.data[:12]) == np.array([1, 2, 3], "<f4").tobytes()


def test_points_come_back_in_part_and_in_whole() -> None:
    made = cloud()
    assert point_cloud2.read_points(made, skip_nans=True).tolist() == [(1, 2, 3), (7, 8, 9)]
    assert point_cloud2.read_points(made, field_names=["y", "x"]).tolist() == [(2, 1), (5, 4), (8, 7)]
    assert point_cloud2.read_points(made, uvs=[2, 0]).tolist() == [(7, 8, 9), (1, 2, 3)]
    assert point_cloud2.read_points_numpy(made, skip_nans=True).tolist() == [[1, 2, 3], [7, 8, 9]]
    first = point_cloud2.read_points_list(made)[0]
    assert (first.x, first.y, first.z) == (1, 2, 3)


def test_fields_may_differ_repeat_and_have_no_name() -> None:
    kind = point_cloud2.dtype_from_fields(MIXED, 20)
    assert kind.names == ("x", "rgb_0", "rgb_1", "rgb_2", "unnamed_field_2")
    made = point_cloud2.create_cloud(Header(), MIXED, [(1.0, 1, 2, 3, 4.0)], point_step=20)
    assert (made.point_step, len(made.data)) == (20, 20)
    assert point_cloud2.read_points(made).tolist() == [(1.0, 1, 2, 3, 4.0)]
    with pytest.raises(AssertionError, match="read_points"):
        point_cloud2.read_points_numpy(made)


def test_organised_clouds_keep_their_shape() -> None:
    numbers = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    made = point_cloud2.create_cloud(Header(), cloud().fields, numbers)
    assert (made.width, made.height) == (2, 3)
    assert (point_cloud2.read_points_numpy(made, reshape_organized_cloud=True) == numbers).all()


def test_big_endian_clouds_are_read() -> None:
    made = cloud()
    made.is_bigendian = True
    made.data = np.arange(9, dtype=">f4").tobytes()
    assert point_cloud2.read_points(made).tolist() == [(0, 1, 2), (3, 4, 5), (6, 7, 8)]


def test_misuse_is_an_error() -> None:
    with pytest.raises(AssertionError, match="not all of"):
        point_cloud2.read_points(cloud(), field_names=["q"])
    with pytest.raises(AssertionError, match="expected a sensor_msgs"):
        point_cloud2.read_points(3)
    with pytest.raises(ValueError):
        point_cloud2.create_cloud(Header(), cloud().fields, [[1, 2]])


def test_the_fields_chosen_are_of_one_type_whatever_the_others_are() -> None:
    dtype = point_cloud2.dtype_from_fields(MIXED)
    made = point_cloud2.create_cloud(Header(), MIXED, np.ones(2, dtype))
    found = point_cloud2.read_points_numpy(made, ["x"])
    assert found.tolist() == [[1.0], [1.0]] and found.dtype == np.float32
    with pytest.raises(AssertionError, match="differ in type"):
        point_cloud2.read_points_numpy(made)
