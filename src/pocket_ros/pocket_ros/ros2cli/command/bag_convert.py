"""`ros2 bag convert`: recordings merged, split by topic, in another storage, compressed or not."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from heapq import merge
from pathlib import Path
from typing import NamedTuple

from rosbags.interfaces import Connection, ConnectionExtRosbag2, MessageDefinitionFormat
from rosbags.rosbag2 import Reader, ReaderError, Writer

from ...interfaces import hashing
from ...interfaces.catalog import UnknownInterfaceError
from ..bag_options import OutputBag, read_output_bags
from ..bag_writing import already_exists, open_writer
from ..message_definitions import full_definition
from ..verbs import Verbs, add_verb


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
