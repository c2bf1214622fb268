"""What comes and goes leaves no memory behind: neither contexts of one's own nor endpoints of others.

Measured is what the allocator of the C library has given out: unlike the memory of a process, that is exact.
"""

from __future__ import annotations

import ctypes
import gc
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node

libc = ctypes.CDLL(None)
pytestmark = pytest.mark.skipif(
    not hasattr(libc, "malloc_info"), reason="only glibc tells what it has given out"
)


@pytest.fixture
def given_out(tmp_path: Path) -> Callable[[], float]:
    """A function that returns how much memory the C library has given out, in kB."""
    libc.fopen.restype = ctypes.c_void_p
    libc.fopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    libc.fclose.argtypes = [ctypes.c_void_p]
    libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]

    def measure() -> float:
        gc.collect()
        path = tmp_path / "malloc.xml"
        file = libc.fopen(str(path).encode(), b"w")
        assert libc.malloc_info(0, file) == 0
        libc.fclose(file)
        total = path.read_text().rpartition("</heap>")[2]
        free = sum(map(int, re.findall(r'type="(?:fast|rest)" count="\d+" size="(\d+)"', total)))
        mapped = sum(map(int, re.findall(r'type="mmap" count="\d+" size="(\d+)"', total)))
        current = re.search(r'system type="current" size="(\d+)"', total)
        assert current is not None
        return (int(current[1]) - free + mapped) / 1e3

    return measure


@contextmanager
def node_of(context: Context) -> Iterator[Node]:
    """A node in a context of its own."""
    rclpy.init(context=context)
    node = Node("passer_by", context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def least(measure: Callable[[], float], seconds: float = 5.0, enough: float = 0.0) -> float:
    """The smallest of several measurements: Cyclone frees what has gone later, in its own threads."""
    end = time.monotonic() + seconds
    found = measure()
    while found > enough and time.monotonic() < end:
        time.sleep(0.1)
        found = min(found, measure())
    return found


def test_contexts_that_come_and_go(given_out: Callable[[], float]) -> None:
    def visit(count: int) -> None:
        for _ in range(count):
            with node_of(Context()):
                pass

    # With the last context the domain would be closed, and everything with it.
    with node_of(Context()):
        visit(20)
        before = least(given_out)
        visit(60)
        # Each left 44 kB.
        assert least(given_out, enough=before + 600.0) - before < 60 * 10.0


@pytest.mark.slow
def test_endpoints_of_others_that_come_and_go(
    given_out: Callable[[], float], start: Callable[..., Any]
) -> None:
    others = start("passers_by")
    others.wait_for("ready")

    def visit(count: int) -> None:
        others.say(str(count))
        others.wait_for("done")

    with node_of(Context()) as node:
        # Asked once, as programs do at their start.
        node.get_node_names()
        node.get_topic_names_and_types()
        node.count_publishers("passing")
        visit(100)
        before = least(given_out)
        visit(1000)
        # Each left 1.5 kB, and what its node said of it.
        assert least(given_out, seconds=15.0, enough=before + 300.0) - before < 1000 * 0.4
        assert "passers_by" in node.get_node_names()
