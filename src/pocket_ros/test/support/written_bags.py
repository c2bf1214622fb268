"""Recordings of strings, for tests that convert, play and describe them."""

from collections.abc import Sequence
from pathlib import Path

from rosbags.interfaces import Qos
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

TYPES = get_typestore(Stores.ROS2_JAZZY)


def write_strings(
    path: Path,
    messages: list[tuple[str, int, str]],
    storage: StoragePlugin = StoragePlugin.MCAP,
    *,
    begin: int = 0,
    profiles: Sequence[Qos] = (),
) -> Path:
    """A recording of strings: topic, milliseconds since `begin` (in nanoseconds) and text of each message."""
    with Writer(path, version=9, storage_plugin=storage) as writer:
        topics = {
            topic: writer.add_connection(
                topic, "std_msgs/msg/String", typestore=TYPES, offered_qos_profiles=profiles
            )
            for topic in dict.fromkeys(topic for topic, _, _ in messages)
        }
        kind = TYPES.types["std_msgs/msg/String"]
        for topic, milliseconds, text in messages:
            data = TYPES.serialize_cdr(kind(text), "std_msgs/msg/String")
            writer.write(topics[topic], begin + milliseconds * 10**6, data)
    return path
