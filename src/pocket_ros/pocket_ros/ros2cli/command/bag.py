"""`ros2 bag`: recordings in MCAP, or in SQLite; `bag_record` holds the verbs that record and play."""

from __future__ import annotations

import argparse
import re
from contextlib import ExitStack
from datetime import datetime
from heapq import merge
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2 import Reader, ReaderError, Writer
from rosbags.rosbag2.metadata import dump_qos_v9

from ...interfaces import catalog as hashing
from ...interfaces.catalog import UnknownInterfaceError
from ..verbs import Verbs, add_verb, add_verbs
from . import bag_record
from .bag_files import (
    OutputBag,
    already_exists,
    count_calls,
    full_definition,
    is_event_topic,
    open_writer,
    read_output_bags,
    service_name,
)

# `ros2 bag convert`: recordings merged, split by topic, in another storage, compressed or not.


def add_convert(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(
        verbs, "convert", _convert, "Given an input bag, write out a new bag with different settings"
    )
    parser.add_argument(
        "-i",
        "--input",
        required=True,
        action="append",
        nargs="+",
        metavar=("uri", "storage_id"),
        help="Input bag; its storage is found out. May be given several times",
    )
    parser.add_argument(
        "-o",
        "--output-options",
        required=True,
        help="YAML file with the key output_bags: a list of the settings of each bag to write",
    )


class _Topic(NamedTuple):
    """What the inputs say of one topic."""

    types: set[str]
    connections: list[Connection]


def _topics(readers: list[Reader]) -> dict[str, _Topic]:
    found: dict[str, _Topic] = {}
    for connection in (connection for reader in readers for connection in reader.connections):
        topic = found.setdefault(connection.topic, _Topic(set(), []))
        topic.types.add(connection.msgtype)
        topic.connections.append(connection)
    return found


def _add_topic(writer: Writer, name: str, topic: _Topic) -> Connection:
    """Add a topic with what the inputs know of it, or with this machine's definition where they have none."""
    (type_name,) = topic.types
    defined = [c.msgdef.data for c in topic.connections if c.msgdef.format != MessageDefinitionFormat.NONE]
    hashes = [connection.digest for connection in topic.connections if connection.digest]
    profiles = [
        profile
        for connection in topic.connections
        if isinstance(connection.ext, ConnectionExtRosbag2)
        for profile in connection.ext.offered_qos_profiles
    ]
    try:
        return writer.add_connection(
            name,
            type_name,
            msgdef=defined[0] if defined else full_definition(type_name),
            rihs01=hashes[0] if hashes else hashing.type_hash(type_name),
            offered_qos_profiles=profiles,
        )
    except UnknownInterfaceError as error:
        raise RuntimeError(f"the input has no definition of the type of '{name}': {error}") from error


def rewrite(readers: list[Reader], bags: list[OutputBag]) -> None:
    """Write all that opened recordings hold into new ones, in the order of time."""
    topics = _topics(readers)
    for name in [name for name, topic in topics.items() if len(topic.types) > 1]:
        types = ", ".join(sorted(topics.pop(name).types))
        print(f"[WARN] [ros2bag]: Topic '{name}' is left out: it has several types: {types}")
    with ExitStack() as stack:
        targets: dict[str, list[tuple[Writer, Connection]]] = {name: [] for name in topics}
        for bag in bags:
            opened = open_writer(Path(bag.uri), bag.storage_id or "mcap", bag.compression_mode)
            writer = stack.enter_context(opened)
            for name, topic in sorted(topics.items()):
                if bag.takes(name, next(iter(topic.types))):
                    targets[name].append((writer, _add_topic(writer, name, topic)))
        streams = [reader.messages() for reader in readers]
        for connection, stamp, data in merge(*streams, key=lambda message: message[1]):
            for writer, own in targets.get(connection.topic, ()):
                writer.write(own, stamp, data)


def _convert(args: argparse.Namespace) -> str | None:
    try:
        bags = read_output_bags(Path(args.output_options))
    except (OSError, ValueError) as error:
        return f"[ERROR] [ros2bag]: {args.output_options}: {error}"
    if wrong := [words for words in args.input if len(words) > 2]:
        return f"[ERROR] [ros2bag]: --input takes a bag and its storage, not {len(wrong[0])} words"
    if there := [Path(bag.uri) for bag in bags if Path(bag.uri).exists()]:
        return already_exists(there[0])
    with ExitStack() as stack:
        readers = []
        for path, *_ in args.input:
            try:
                readers.append(stack.enter_context(Reader(path)))
            except (ReaderError, OSError) as error:
                return f"[ERROR] [ros2bag]: Could not open '{path}': {error}"
        rewrite(readers, bags)
    return None


# `ros2 bag info`.


_INDENT = " " * 19


def add_info(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "info", _info, "Print information about a bag to the screen")
    parser.add_argument("bag_path", help="Bag to open")
    parser.add_argument("-s", "--storage", help="Accepted; the storage is found out")
    parser.add_argument("-t", "--topic-name", action="store_true", help="Only display topic names")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="Display request/response information for services"
    )


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 1_000_000_000}.{nanoseconds % 1_000_000_000:09d}"


def _point(nanoseconds: int) -> str:
    when = datetime.fromtimestamp(nanoseconds // 1_000_000_000)
    return f"{when:%b %e %Y %H:%M:%S}.{nanoseconds % 1_000_000_000:09d} ({_seconds(nanoseconds)})"


def _size(count: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while count >= 1024 and len(units) > 1:
        count /= 1024
        units.pop(0)
    return f"{count:.0f} B" if units[0] == "B" else f"{count:.1f} {units[0]}"


def _info(args: argparse.Namespace) -> str | None:
    path = Path(args.bag_path)
    if args.topic_name and args.verbose:
        print("Warning! You have set both the '-t' and '-v' parameters. The '-t' parameter will be ignored.")
    try:
        with Reader(path) as reader:
            _print(path, reader, args)
    except (ReaderError, OSError) as error:
        return f"[ERROR] [ros2bag]: Could not open '{path}': {error}"
    return None


def _metadata(path: Path) -> dict[str, Any]:
    """What is said of a folder; of a single file, what is known without."""
    if path.is_dir():
        content = yaml.safe_load((path / "metadata.yaml").read_text())
        found: dict[str, Any] = content["rosbag2_bagfile_information"]
        return found
    storage = "mcap" if path.suffix == ".mcap" else "sqlite3"
    return {"relative_file_paths": [path.name], "storage_identifier": storage}


def _print(path: Path, reader: Reader, args: argparse.Namespace) -> None:
    by_name = sorted(reader.connections, key=lambda connection: connection.topic)
    services = [found for found in by_name if is_event_topic(found.topic, found.msgtype)]
    topics = [found for found in by_name if found not in services]
    if args.topic_name and not args.verbose:
        print(*(connection.topic for connection in topics), sep="\n")
        return
    _print_whole(path, reader)
    lines = [
        f"Topic: {connection.topic} | Type: {connection.msgtype} | Count: {connection.msgcount} | "
        "Serialization Format: cdr"
        for connection in topics
    ]
    print("Topic information: " + f"\n{_INDENT}".join(lines))
    print(f"Service:           {len(services)}")
    lines = [_service_line(reader, connection, args.verbose) for connection in services]
    print("Service information: " + f"\n{_INDENT}  ".join(lines))


def _service_line(reader: Reader, connection: Connection, verbose: bool) -> str:
    if verbose:
        calls = count_calls(reader, connection)
        count = f"Request Count: {calls.requests} | Response Count: {calls.responses}"
    else:
        count = f"Event Count: {connection.msgcount}"
    kind = connection.msgtype.removesuffix("_Event")
    return f"Service: {service_name(connection.topic)} | Type: {kind} | {count} | Serialization Format: cdr"


def _print_whole(path: Path, reader: Reader) -> None:
    """What is said of a recording as a whole."""
    metadata = _metadata(path)
    files: list[str] = metadata["relative_file_paths"]
    folder = path if path.is_dir() else path.parent
    # An empty recording has no first message. The reader counts up to what is after the last one.
    duration = reader.duration - 1 if reader.message_count else 0
    start = reader.start_time if reader.message_count else 0
    print(f"\nFiles:             {files[0]}")
    for name in files[1:]:
        print(f"{_INDENT}{name}")
    print(f"Bag size:          {_size(sum((folder / name).stat().st_size for name in files))}")
    print(f"Storage id:        {metadata['storage_identifier']}")
    print(f"ROS Distro:        {metadata.get('ros_distro') or 'unknown'}")
    print(f"Duration:          {_seconds(duration)}s")
    print(f"Start:             {_point(start)}")
    print(f"End:               {_point(start + duration)}")
    print(f"Messages:          {reader.message_count}")


# `ros2 bag reindex`: the metadata of a recording, made anew from its files.


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 bag`."""
    verbs = add_verbs(parser)
    add_convert(verbs)
    add_info(verbs)
    bag_record.add_play(verbs)
    bag_record.add_record(verbs)
    add_reindex(verbs)
