"""`ros2 doctor`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import socket
import time
from collections import Counter

from ... import rclpy
from ...interfaces.classes import message_class
from ...rclpy.executors import ExternalShutdownException
from ..api_doctor import format_print, generate_reports, run_checks
from ..node import cli_node
from ..verbs import Verbs, add_verb, add_verbs, positive_float, positive_int
from .multicast import DEFAULT_GROUP, DEFAULT_PORT, MOST_BYTES, open_receiver, send

# `ros2 doctor hello`: whether several machines hear one another, by a topic and by UDP multicast.


_GREETING = "hello, it's me"


def add_hello(verbs: Verbs) -> None:
    """The verb and its arguments."""
    parser = add_verb(verbs, "hello", _hello, "Check network connectivity between multiple hosts")
    flag = parser.add_argument
    flag(
        "-t", "--topic", default="/canyouhearme", help="Topic to publish and to hear (default: /canyouhearme)"
    )
    for short, name, seconds, between in (
        ("-ep", "emit", 0.1, "two messages"),
        ("-pp", "print", 1.0, "two tables"),
    ):
        text = f"Seconds between {between} (default: {seconds})"
        flag(short, f"--{name}-period", metavar="N", type=positive_float, default=seconds, help=text)
    flag("--ttl", type=positive_int, help="The multicast TTL")
    flag("-1", "--once", action="store_true", help="Send once, print the table and end")


class HelloTable:
    """How often this machine called, and how often it heard each of the others."""

    def __init__(self, topic: str, period: float) -> None:
        self._topic = topic
        self._period = period
        self.reset()

    def reset(self) -> None:
        """Count anew."""
        self.sent = 0
        self._by_topic: Counter[str] = Counter()
        self._by_multicast: Counter[str] = Counter()

    def hear_topic(self, text: str) -> None:
        """Count a message of the topic."""
        self._count(self._by_topic, text)

    def hear_multicast(self, text: str) -> None:
        """Count a packet."""
        self._count(self._by_multicast, text)

    @staticmethod
    def _count(counter: Counter[str], text: str) -> None:
        words = text.split()
        if words and words[-1] != socket.gethostname():
            counter[words[-1]] += 1

    def __str__(self) -> str:
        """The table."""

        def lines(counter: Counter[str]) -> list[str]:
            rows = [("Hostname", f"Msg Count /{self._period}s"), *counter.items()]
            return [f"{'':<15} {name:<20} {count:<10}" for name, count in rows]

        return "\n".join(
            [
                "MULTIMACHINE COMMUNICATION SUMMARY",
                f"Topic: {self._topic}, Published Msg Count: {self.sent}",
                "Subscribed from:",
                *lines(self._by_topic),
                f"Multicast Group/Port: {DEFAULT_GROUP}/{DEFAULT_PORT}, Sent Msg Count: {self.sent}",
                "Received from:",
                *lines(self._by_multicast),
                "-" * 60,
            ]
        )


def _take_packets(inlet: socket.socket, table: HelloTable) -> None:
    with contextlib.suppress(BlockingIOError):
        while True:
            table.hear_multicast(inlet.recv(MOST_BYTES).decode("utf-8", "replace"))


def _hello(args: argparse.Namespace) -> None:
    host = socket.gethostname()
    text = message_class("std_msgs/msg/String")
    table = HelloTable(args.topic, args.print_period)
    name = f"ros2doctor_{re.sub('[^0-9a-zA-Z_]', '_', host)}_{os.getpid()}_node"
    with (
        cli_node(args, name) as node,
        open_receiver() as inlet,
        contextlib.suppress(ExternalShutdownException, KeyboardInterrupt),
    ):
        inlet.setblocking(False)
        publisher = node.create_publisher(text, args.topic, 10)
        node.create_subscription(text, args.topic, lambda message: table.hear_topic(message.data), 10)
        printing = time.monotonic() + args.print_period
        while rclpy.ok():
            publisher.publish(text(data=f"{_GREETING} {host}"))
            send(f"{_GREETING} {host}".encode(), ttl=args.ttl)
            table.sent += 1
            end = time.monotonic() + args.emit_period
            while (left := end - time.monotonic()) > 0.0:
                rclpy.spin_once(node, timeout_sec=left)
            _take_packets(inlet, table)
            if args.once or time.monotonic() >= printing:
                print(table, flush=True)
                table.reset()
                printing += args.print_period
            if args.once:
                return


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is printed."""
    add_hello(add_verbs(parser))
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--report", "-r", action="store_true", help="Print all reports")
    group.add_argument(
        "--report-failed", "-rf", action="store_true", help="Print reports of failed checks only"
    )
    parser.add_argument(
        "--exclude-packages", "-ep", action="store_true", help="Accepted; no package is looked at"
    )
    parser.add_argument(
        "--include-warnings", "-iw", action="store_true", help="Include warnings as failed checks"
    )
    parser.set_defaults(main=_doctor)


def _doctor(args: argparse.Namespace) -> None:
    if args.report:
        for report in generate_reports():
            format_print(report)
        return
    categories, failed, total = run_checks(include_warnings=args.include_warnings)
    if not failed:
        print(f"\nAll {total} checks passed\n")
        return
    print(f"\n{failed}/{total} check(s) failed\n")
    print("Failed modules:", *sorted(categories))
    if args.report_failed:
        for report in generate_reports(categories=categories):
            format_print(report)
