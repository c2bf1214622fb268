"""`ros2 bag reindex`: the metadata of a recording, made anew from its files."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import yaml
from rosbags.interfaces import Connection, ConnectionExtRosbag2
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.rosbag2.metadata import dump_qos_v9

from ..verbs import Verbs, add_verb

_STORAGES = {".mcap": "mcap", ".db3": "sqlite3"}
_VERSION = 9


def add_reindex(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "reindex", _reindex, "Reconstruct metadata file for a bag")
    parser.add_argument("bag_path", help="Bag to open")
    parser.add_argument("-s", "--storage", help="Accepted; the storage is found out")


def _files(folder: Path) -> list[Path]:
    """The files of a recording, by their number: `bag_2.mcap` is before `bag_10.mcap`."""

    def place(path: Path) -> tuple[int, str]:
        number = re.search(r"_(\d+)$", path.stem)
        return int(number[1]) if number else -1, path.name

    return sorted((path for path in folder.iterdir() if path.suffix in _STORAGES), key=place)


class _Metadata:
    """What is known of a recording, file by file."""

    def __init__(self) -> None:
        self._files: list[dict[str, Any]] = []
        self._topics: dict[str, dict[str, Any]] = {}
        self._spans: list[tuple[int, int]] = []
        self._distribution = ""
        self._custom: dict[str, str] | None = None

    def add(self, path: Path) -> None:
        """Read a file. Raises ReaderError or OSError."""
        with Reader(path) as reader:
            count = reader.message_count
            # The reader counts up to what is after the last one.
            begin, end = (reader.start_time, reader.end_time - 1) if count else (0, 0)
            if count:
                self._spans.append((begin, end))
            times = {
                "starting_time": {"nanoseconds_since_epoch": begin},
                "duration": {"nanoseconds": end - begin},
            }
            self._files.append({"path": path.name, **times, "message_count": count})
            self._distribution = reader.storage.metadata.ros_distro or self._distribution
            self._custom = reader.storage.metadata.custom or self._custom
            for connection in reader.connections:
                self._add_topic(connection)

    def _add_topic(self, connection: Connection) -> None:
        ext = connection.ext
        assert isinstance(ext, ConnectionExtRosbag2)
        found = self._topics.setdefault(connection.topic, {"topic_metadata": {}, "message_count": 0})
        found["message_count"] += connection.msgcount
        known: dict[str, object] = {
            "name": connection.topic,
            "type": connection.msgtype,
            "serialization_format": ext.serialization_format,
            "offered_qos_profiles": dump_qos_v9(ext.offered_qos_profiles),
            "type_description_hash": connection.digest,
        }
        # What a later file does not know stays as it was.
        found["topic_metadata"] |= {k: v for k, v in known.items() if v or k not in found["topic_metadata"]}

    def as_dict(self, storage: str) -> dict[str, object]:
        """The content of `metadata.yaml`."""
        begin = min((span[0] for span in self._spans), default=0)
        end = max((span[1] for span in self._spans), default=0)
        information = {
            "version": _VERSION,
            "storage_identifier": storage,
            "duration": {"nanoseconds": end - begin},
            "starting_time": {"nanoseconds_since_epoch": begin},
            "message_count": sum(file["message_count"] for file in self._files),
            "topics_with_message_count": [topic for _, topic in sorted(self._topics.items())],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [file["path"] for file in self._files],
            "files": self._files,
            "custom_data": self._custom,
            "ros_distro": self._distribution,
        }
        return {"rosbag2_bagfile_information": information}


def _reindex(args: argparse.Namespace) -> str | None:
    folder = Path(args.bag_path)
    if not folder.is_dir():
        return "[ERROR] [ros2bag]: Must specify a bag directory"
    if packed := sorted(folder.glob("*.zstd")):
        return f"[ERROR] [ros2bag]: '{packed[0].name}' is compressed: such bags cannot be reindexed"
    files = _files(folder)
    if not files:
        return f"[ERROR] [ros2bag]: No storage files found in '{folder}'"
    if len({path.suffix for path in files}) > 1:
        return f"[ERROR] [ros2bag]: '{folder}' has files of several storages"
    metadata = _Metadata()
    for path in files:
        try:
            metadata.add(path)
        except (ReaderError, OSError) as error:
            hint = " If it was cut off, `mcap recover` mends it." if path.suffix == ".mcap" else ""
            return f"[ERROR] [ros2bag]: Could not read '{path}': {error}{hint}"
    content = metadata.as_dict(_STORAGES[files[0].suffix])
    target = folder / "metadata.yaml"
    new = target.with_suffix(".yaml.tmp")
    new.write_text(yaml.safe_dump(content, sort_keys=False))
    new.replace(target)
    print(f"Reindexing complete: {folder}")
    return None
