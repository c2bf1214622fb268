"""CDR against recorded payloads and against rosbags' own implementation."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from pocket_ros.interfaces import catalog, cdr
from pocket_ros.interfaces.classes import integer_range, message_class
from pocket_ros.interfaces.definitions import EMPTY_MEMBER, INTEGERS, TYPE_CODES, FieldType, Shape

SAMPLES = json.loads((Path(__file__).parents[1] / "wire" / "samples.json").read_text())
STORE = get_typestore(Stores.ROS2_JAZZY)
NAMES = sorted(n for n in STORE.fielddefs if not n.endswith("/WString"))


def ros_name(dds_type: str) -> str:
    package, kind, _, base = dds_type.split("::")
    return f"{package}/{kind}/{base[:-1]}"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s["topic"])
def test_recorded_payloads_come_back_byte_for_byte(sample: dict[str, str]) -> None:
    data = bytes.fromhex(sample["cdr_hex"])
    header = 16 if sample["topic"].startswith(("rq/", "rr/")) else 0
    message = cdr.deserialize(data, message_class(ros_name(sample["type"])), 4 + header)
    written = bytes(cdr.serialize(message))
    again = written[:4] + data[4 : 4 + header] + written[4:]
    assert again.ljust(len(again) + 3 & ~3, b"\x00") == data


def fill(name: str, generator: random.Random) -> Any:
    """A message with random content."""
    message = message_class(name)()
    for field in catalog.message(name).fields:
        if field is EMPTY_MEMBER:
            continue
        setattr(message, field.name, value(field.type, generator))
    return message


def value(kind: FieldType, generator: random.Random) -> Any:
    if kind.shape is Shape.SINGLE:
        return single(kind, generator)
    count = kind.size if kind.shape is Shape.ARRAY else generator.randrange(min(kind.size or 4, 4) + 1)
    return [single(kind.element(), generator) for _ in range(count)]


def single(kind: FieldType, generator: random.Random) -> Any:
    if not kind.is_primitive:
        return fill(kind.base, generator)
    if kind.is_string:
        return "".join(generator.choice("aé ") for _ in range(generator.randrange(6)))
    if kind.base in INTEGERS:
        return generator.randint(*integer_range(kind.base))
    if kind.base == "bool":
        return generator.random() < 0.5
    if kind.base == "byte":
        return bytes([generator.randrange(128)])  # rosbags has them signed
    return float(np.float32(generator.uniform(-9, 9)))


def to_rosbags(message: Any, name: str) -> Any:
    """The same content as an object of rosbags."""
    values = {}
    for field in catalog.message(name).fields:
        if field is EMPTY_MEMBER:
            return STORE.types[name]()
        content, kind = getattr(message, field.name), field.type
        if kind.base == "byte":
            values[field.name] = (
                content[0] if kind.shape is Shape.SINGLE else np.array([b[0] for b in content], np.uint8)
            )
        elif kind.shape is not Shape.SINGLE and (kind.base in TYPE_CODES or kind.base == "bool"):
            values[field.name] = np.array(
                content, dtype={"bool": bool, "char": np.uint8}.get(kind.base, kind.base)
            )
        elif kind.is_primitive:
            values[field.name] = content
        elif kind.shape is Shape.SINGLE:
            values[field.name] = to_rosbags(content, kind.base)
        else:
            values[field.name] = [to_rosbags(c, kind.base) for c in content]
    return STORE.types[name](**values)


@pytest.mark.parametrize("name", NAMES)
def test_any_content_is_written_as_rosbags_writes_it_and_read_back(name: str) -> None:
    generator = random.Random(name)
    for _ in range(4):
        message = fill(name, generator)
        data = bytes(cdr.serialize(message))
        assert data == bytes(STORE.serialize_cdr(to_rosbags(message, name), name))
        assert cdr.deserialize(data, message_class(name)) == message


@pytest.mark.parametrize(
    "name", ["sensor_msgs/msg/JointState", "nav_msgs/msg/Odometry", "sensor_msgs/msg/LaserScan"]
)
def test_big_endian_is_read(name: str) -> None:
    message = fill(name, random.Random(1))
    data = bytes(STORE.serialize_cdr(to_rosbags(message, name), name, little_endian=False))
    assert cdr.deserialize(data, message_class(name)) == message


@pytest.mark.parametrize("name", ["geometry_msgs/msg/Twist", "std_msgs/msg/String", "tf2_msgs/msg/TFMessage"])
def test_truncated_bytes_are_an_error(name: str) -> None:
    message = fill(name, random.Random(3))
    if name == "tf2_msgs/msg/TFMessage":
        message.transforms = [fill("geometry_msgs/msg/TransformStamped", random.Random(4))]
    if name == "std_msgs/msg/String":
        message.data = "a long enough text"
    data = bytes(cdr.serialize(message))
    for end in (0, 3, 5, len(data) // 2, len(data) - 1):
        with pytest.raises(cdr.DeserializationError):
            cdr.deserialize(data[:end], type(message))


def test_an_absurd_count_is_refused_at_once() -> None:
    data = b"\x00\x01\x00\x00" + b"\xff\xff\xff\x7f"
    with pytest.raises(cdr.DeserializationError):
        cdr.deserialize(data, message_class("tf2_msgs/msg/TFMessage"))


def test_wide_strings_are_not_covered() -> None:
    with pytest.raises(NotImplementedError, match="wstring"):
        cdr.serialize(message_class("example_interfaces/msg/WString")())
