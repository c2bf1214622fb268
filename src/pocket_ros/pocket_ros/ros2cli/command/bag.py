"""`ros2 bag`: recordings in MCAP, or in SQLite; `bag_record` holds the verbs that record and play."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from rosbags.interfaces import Connection
from rosbags.rosbag2 import Reader, ReaderError

from ..verbs import Verbs, add_verb, add_verbs
from . import bag_record
from .bag_files import count_calls, is_event_topic, service_name

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 bag`."""
    verbs = add_verbs(parser)
    add_info(verbs)
    bag_record.add_play(verbs)
    bag_record.add_record(verbs)
