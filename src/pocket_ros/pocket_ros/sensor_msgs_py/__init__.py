"""Helpers for messages of sensor_msgs."""

from __future__ import annotations

import sys
from array import array
from collections import namedtuple
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib.recfunctions import structured_to_unstructured as structured_to_unstructured
from numpy.lib.recfunctions import unstructured_to_structured as unstructured_to_structured

from ..interfaces.classes import message_class
from ..places import offer_places

# Points of sensor_msgs/PointCloud2 as NumPy arrays, and back.


PointCloud2: Any = message_class("sensor_msgs/msg/PointCloud2")
PointField: Any = message_class("sensor_msgs/msg/PointField")

DUMMY_FIELD_PREFIX = "unnamed_field"
"""Fields without a name are called this and their index."""

_DATATYPES: dict[int, np.dtype[Any]] = {
    PointField.INT8: np.dtype(np.int8),
    PointField.UINT8: np.dtype(np.uint8),
    PointField.INT16: np.dtype(np.int16),
    PointField.UINT16: np.dtype(np.uint16),
    PointField.INT32: np.dtype(np.int32),
    PointField.UINT32: np.dtype(np.uint32),
    PointField.FLOAT32: np.dtype(np.float32),
    PointField.FLOAT64: np.dtype(np.float64),
}


def dtype_from_fields(fields: Iterable[Any], point_step: int | None = None) -> np.dtype[Any]:
    """The dtype of one point; of `point_step` bytes where that is given.

    A field with a count above 1 becomes as many, `name_0`, `name_1` and so on.
    """
    names: list[str] = []
    formats: list[np.dtype[Any]] = []
    offsets: list[int] = []
    for index, field in enumerate(fields):
        number_type = _DATATYPES[field.datatype]
        name = field.name or f"{DUMMY_FIELD_PREFIX}_{index}"
        assert field.count > 0, f"field {name!r} has count {field.count}; it must be at least 1"
        for number in range(field.count):
            names.append(name if field.count == 1 else f"{name}_{number}")
            formats.append(number_type)
            offsets.append(field.offset + number * number_type.itemsize)
            assert names.count(names[-1]) == 1, f"field {names[-1]!r} comes twice"
    layout: Any = {"names": names, "formats": formats, "offsets": offsets}
    if point_step is not None:
        layout["itemsize"] = point_step
    kind: np.dtype[Any] = np.dtype(layout)
    return kind


def read_points(
    cloud: Any,
    field_names: list[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable[Any] | None = None,
    reshape_organized_cloud: bool = False,
) -> np.ndarray[Any, Any]:
    """The points as a structured array, of the named fields alone where names are given.

    `skip_nans` leaves out points with a number that is none, `uvs` takes the points with these indices,
    `reshape_organized_cloud` answers an array (width, height) of an organised cloud, in the order of ROS 2
    Jazzy. The array is a view of the cloud's data unless points were chosen.
    """
    assert isinstance(cloud, PointCloud2), f"expected a sensor_msgs.msg.PointCloud2, got {type(cloud)}"
    kind = dtype_from_fields(cloud.fields, point_step=cloud.point_step)
    count = cloud.width * cloud.height
    points: np.ndarray[Any, Any] = np.ndarray(shape=(count,), dtype=kind, buffer=cloud.data)
    if field_names is not None:
        assert all(name in (points.dtype.names or ()) for name in field_names), (
            f"the cloud has the fields {points.dtype.names}, not all of {field_names}"
        )
        points = points[list(field_names)]
    if bool(sys.byteorder != "little") != bool(cloud.is_bigendian):
        points = points.byteswap()
    if skip_nans and not cloud.is_dense:
        good = np.ones(len(points), bool)
        for name in points.dtype.names or ():
            good &= ~np.isnan(points[name])
        points = points[good]
    if uvs is not None:
        points = points[uvs if isinstance(uvs, np.ndarray) else np.fromiter(uvs, int)]
    if reshape_organized_cloud and cloud.height > 1:
        points = points.reshape(cloud.width, cloud.height)
    return points


def read_points_numpy(
    cloud: Any,
    field_names: list[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable[Any] | None = None,
    reshape_organized_cloud: bool = False,
) -> np.ndarray[Any, Any]:
    """The points as an array with an axis for the fields chosen, all of one type; see `read_points`."""
    chosen = [field for field in cloud.fields if field_names is None or field.name in field_names]
    assert len({field.datatype for field in chosen}) <= 1, "fields differ in type; use read_points()"
    return structured_to_unstructured(
        read_points(cloud, field_names, skip_nans, uvs, reshape_organized_cloud)
    )


def read_points_list(
    cloud: Any,
    field_names: list[str] | None = None,
    skip_nans: bool = False,
    uvs: Iterable[Any] | None = None,
) -> list[Any]:
    """The points as named tuples; see `read_points`."""
    points = read_points(cloud, field_names, skip_nans, uvs)
    point: Any = namedtuple("Point", points.dtype.names or ())  # type: ignore[misc]
    return [point._make(values) for values in points]


def create_cloud(
    header: Any, fields: Iterable[Any], points: Iterable[Any], point_step: int | None = None
) -> Any:
    """A PointCloud2 of points, given as a structured array, an array (N, fields) or tuples.

    A structured array (width, height) or an array (width, height, fields) becomes an organised cloud.
    """
    fields = list(fields)
    kind = dtype_from_fields(fields, point_step=point_step)
    if isinstance(points, np.ndarray):
        if points.dtype.names is None:
            assert len({field.datatype for field in fields}) <= 1, (
                "the fields differ in type; give a structured array"
            )
            points = unstructured_to_structured(points, dtype=kind)
        else:
            assert points.dtype == kind, f"the array is of {points.dtype}, the fields of {kind}"
    else:
        points = np.array([tuple(point) for point in points], dtype=kind)
    assert points.ndim <= 2, f"points have one axis, or two in an organised cloud, not {points.ndim}"
    width, height = points.shape if points.ndim == 2 else (len(points), 1)
    data = array("B")
    data.frombytes(points.tobytes())
    return PointCloud2(
        header=header,
        height=height,
        width=width,
        is_dense=False,
        is_bigendian=sys.byteorder != "little",
        fields=fields,
        point_step=kind.itemsize,
        row_step=kind.itemsize * width,
        data=data,
    )


def create_cloud_xyz32(header: Any, points: Iterable[Any]) -> Any:
    """A PointCloud2 with float32 fields x, y and z."""
    fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate("xyz")
    ]
    return create_cloud(header, fields, points)


offer_places(__name__)
