"""`ros2 multicast`."""

from __future__ import annotations

import argparse
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from ..verbs import add_verb, add_verbs, positive_int

# Single packets by UDP multicast, to see whether they pass between machines.


DEFAULT_GROUP = "225.0.0.1"
DEFAULT_PORT = 49150
MOST_BYTES = 4096


def send(
    data: bytes, *, group: str = DEFAULT_GROUP, port: int = DEFAULT_PORT, ttl: int | None = None
) -> None:
    """Send one packet. Raises OSError where it cannot be sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP) as outlet:
        if ttl is not None:
            outlet.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
        outlet.sendto(data, (group, port))


@contextmanager
def open_receiver(group: str = DEFAULT_GROUP, port: int = DEFAULT_PORT) -> Iterator[socket.socket]:
    """A socket that takes the packets sent to a group. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_UDP) as inlet:
        inlet.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        inlet.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        inlet.bind(("", port))
        membership = struct.pack("4sl", socket.inet_aton(group), socket.INADDR_ANY)
        inlet.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        yield inlet


def receive(
    *, group: str = DEFAULT_GROUP, port: int = DEFAULT_PORT, timeout: float | None = None
) -> tuple[bytes, tuple[str, int]]:
    """Wait for one packet; its bytes and the address it came from. Raises TimeoutError, OSError."""
    with open_receiver(group, port) as inlet:
        inlet.settimeout(timeout)
        data, (host, sender_port) = inlet.recvfrom(MOST_BYTES)
        return data, (host, sender_port)


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
