"""`ros2 multicast`."""

from __future__ import annotations

import argparse

from ...ros2multicast.api import DEFAULT_GROUP, DEFAULT_PORT, receive, send
from ..verbs import add_verb, add_verbs, positive_int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs of `ros2 multicast`."""
    verbs = add_verbs(parser)
    receiving = add_verb(verbs, "receive", _receive, "Receive a single UDP multicast packet")
    sending = add_verb(verbs, "send", _send, "Send a single UDP multicast packet")
    sending.add_argument("--ttl", type=positive_int, help="The multicast TTL")
    for verb in (receiving, sending):
        verb.add_argument("--group", default=DEFAULT_GROUP, help=f"The group (default: {DEFAULT_GROUP})")
        verb.add_argument(
            "--port", type=positive_int, default=DEFAULT_PORT, help=f"The port (default: {DEFAULT_PORT})"
        )


def _receive(args: argparse.Namespace) -> None:
    print("Waiting for UDP multicast datagram...", flush=True)
    data, (host, port) = receive(group=args.group, port=args.port)
    print(f"Received from {host}:{port}: '{data.decode('utf-8', 'replace')}'")


def _send(args: argparse.Namespace) -> None:
    print("Sending one UDP multicast datagram...")
    send(b"Hello World!", group=args.group, port=args.port, ttl=args.ttl)
