"""Nodes that are forked from a process which has imported all that they need: most of their start is imports.

Run as a program it is that process: it is asked over a socket, its standard input, with what a node is to print to.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

PARENT: list[socket.socket] = []
"""The end of the socket in the process of tests, once a node was asked for."""
CODES: dict[int, int] = {}
"""Exit codes of nodes that have ended, by their process id, as told by the parent of all nodes."""


def _parent() -> socket.socket:
    if not PARENT:
        here, there = socket.socketpair()
        # Libraries that start threads when they are imported must not: a fork has none of them.
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen([sys.executable, __file__], stdin=there, env=environment, start_new_session=True)
        there.close()
        atexit.register(process.wait)
        atexit.register(here.close)
        PARENT.append(here)
    return PARENT[0]


def _hear(patience: float) -> list[int]:
    """Note who has ended; return the process ids of new nodes."""
    begun = []
    if select.select([_parent()], [], [], patience)[0]:
        for line in _parent().recv(65536).decode().splitlines():
            pid, *code = map(int, line.split())
            if code:
                CODES[pid] = code[0]
            else:
                begun.append(pid)
    return begun


class ForkedNode:
    """A node as a process: what tests use of subprocess.Popen."""

    def __init__(self, arguments: Sequence[str], output: IO[str]) -> None:
        asked = json.dumps({"arguments": [*arguments], "environment": {**os.environ}, "folder": str(Path.cwd())})
        handle = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [output.fileno()]))
        _parent().sendmsg([f"{len(asked.encode()):9d}{asked}".encode()], [handle])
        begun: list[int] = []
        while not begun:
            begun = _hear(60.0)
        (self.pid,) = begun

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        if self.pid not in CODES:
            _hear(0.0)
        return CODES.get(self.pid)

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for its end; return its exit code. Raises TimeoutExpired."""
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("fleet_sim_node", timeout)
            _hear(max(deadline - time.monotonic(), 0.0))
        return CODES[self.pid]

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)


def run(asked: dict[str, Any], output: int) -> int:
    """Be a node; return its exit code."""
    from fleet_sim.ros.main import main

    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.path[:0] = [
        path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path
    ]
    random.seed()
    sys.argv = ["fleet_sim_node", *asked["arguments"]]
    return main()


def serve(asked_by: socket.socket) -> None:
    """Fork a node for each request, and tell who has ended, until nobody asks any more."""
    import fleet_sim.ros.main
    import fleet_sim.ros.node
    import fleet_sim.simulation  # noqa: F401

    woken, wake = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    living: set[int] = set()
    while True:
        ready, _, _ = select.select([asked_by, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            for pid in [*living]:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    living.remove(pid)
                    asked_by.sendall(f"{pid} {os.waitstatus_to_exitcode(status)}\n".encode())
        if asked_by not in ready:
            continue
        text, handles, _, _ = socket.recv_fds(asked_by, 9, 1)
        if not text:
            break
        size, body = int(text), b""
        while len(body) < size:
            body += asked_by.recv(size - len(body))
        pid = os.fork()
        if not pid:
            code = 1
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                asked_by.close()
                code = run(json.loads(body), handles[0])
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        os.close(handles[0])
        living.add(pid)
        asked_by.sendall(f"{pid}\n".encode())
    for pid in living:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.path.pop(0)
    serve(socket.socket(fileno=0))
