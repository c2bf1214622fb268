"""Publishes invalid messages on all topics that a node reads: `flood_program.py COUNT SEED`. See its test.

It says `ready`, waits for a line, publishes, says how many were sent and for how many seconds of processor time, and
waits for another line, as what is still on its way would be lost with the process.
"""

from __future__ import annotations

import sys
import time
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from hostile_messages import invalid_bytes
from node_program import Client
from rosidl_runtime_py.utilities import get_message

LAST_TOPIC = "/helper/path"
"""When this one has a reader, all have."""

POOL = 400
"""Different messages of a topic."""

NOT_OURS = ("/parameter_events", "/rosout", "/clock")


def publishers(client: Client) -> list[tuple[Any, Any]]:
    """Return a publisher of each topic that somebody reads, with its type."""
    client.until(lambda: client.node.count_subscribers(LAST_TOPIC), "a node with topics")
    node, found = client.node, []
    for topic, types in node.get_topic_names_and_types():
        if node.count_subscribers(topic) and topic not in NOT_OURS:
            kind = get_message(types[0])
            found.append((node.create_publisher(kind, topic, 10), kind))
    client.until(lambda: all(one.get_subscription_count() for one, _ in found), "the readers")
    return found


def accepted(publisher: Any, kind: Any, random: Random) -> list[bytes]:
    """Return invalid messages that the middleware itself sends."""
    pool: list[bytes] = []
    for data in islice(iter(lambda: invalid_bytes(kind, random), None), 20 * POOL):
        try:
            publisher.publish(data)
        except Exception as error:
            # Cyclone DDS sends nothing without the header of an encapsulation that it knows.
            if "refuse" not in str(error) and "RCLError" not in type(error).__name__:
                raise
            continue
        pool.append(data)
        if len(pool) == POOL:
            break
    return pool


def main() -> None:
    """Publish as many messages as the command line says."""
    count, random = int(sys.argv[1]), Random(int(sys.argv[2]))
    client = Client(f"flood_{sys.argv[2]}")
    targets = [(publisher, accepted(publisher, kind, random)) for publisher, kind in publishers(client)]
    print("ready", len(targets), flush=True)
    sys.stdin.readline()
    # In turn, so that a reader that keeps the last message of a topic sees many of them.
    turns = [(publisher.publish, pool[at]) for at in range(POOL) for publisher, pool in targets]
    sent = 0
    while sent < count:
        for publish, data in turns[: count - sent]:
            publish(data)
        sent += min(len(turns), count - sent)
        client.executor.spin_once(timeout_sec=0.0)
    print(sent, time.process_time(), flush=True)
    sys.stdin.readline()
    client.close()


main()
