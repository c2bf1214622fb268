"""A child process on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

# A grandchild that outlives its parent keeps the pipes open; the launch does not wait for it longer than
# this.
_DRAIN_SECONDS = 0.5


class _Pipe(asyncio.Protocol):
    """Reads a pseudo terminal, whose end is an error instead of an end of file."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data = on_data
        self._on_end = on_end

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_end()


class ChildProcess(asyncio.SubprocessProtocol):
    """A process in a session of its own, so that a signal reaches it once and all that it started.

    `exited` gives the return code when the process has ended and everything it wrote has been delivered to
    `on_output(fd, data)`.
    """

    def __init__(
        self, on_started: Callable[[ChildProcess], None], on_output: Callable[[int, bytes], None]
    ) -> None:
        loop = asyncio.get_running_loop()
        self._on_started = on_started
        self._on_output = on_output
        self._ended: asyncio.Future[None] = loop.create_future()
        self._drained: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.SubprocessTransport | None = None
        self._terminals: dict[int, asyncio.BaseTransport] = {}
        self._pipes_done = False
        self.pid = 0

    @classmethod
    async def start(
        cls,
        cmd: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str] | None,
        shell: bool,
        emulate_tty: bool,
        on_started: Callable[[ChildProcess], None],
        on_output: Callable[[int, bytes], None],
    ) -> ChildProcess:
        """Start a process; `on_started` is called before any output.

        Raises OSError when it cannot be started.
        """
        loop = asyncio.get_running_loop()
        child = cls(on_started, on_output)
        slaves = [await child._open_terminal(fd) for fd in (1, 2)] if emulate_tty else []
        streams = dict(zip(("stdout", "stderr"), slaves, strict=False))
        options: dict[str, Any] = {"cwd": cwd, "env": env, "start_new_session": True, **streams}
        try:
            if shell:
                await loop.subprocess_shell(lambda: child, " ".join(cmd), **options)
            else:
                await loop.subprocess_exec(lambda: child, *cmd, **options)
        except OSError:
            child._close_terminals()
            raise
        finally:
            for slave in slaves:
                os.close(slave)
        return child

    async def _open_terminal(self, fd: int) -> int:
        master, slave = pty.openpty()
        stream: BinaryIO = open(master, "rb", 0)  # noqa: SIM115 - the transport owns and closes it
        protocol = _Pipe(lambda data: self._on_output(fd, data), lambda: self._terminal_lost(fd))
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, stream)
        self._terminals[fd] = transport
        return slave

    def _terminal_lost(self, fd: int) -> None:
        self._terminals.pop(fd, None)
        self._check_drained()

    def _close_terminals(self) -> None:
        for transport in list(self._terminals.values()):
            transport.close()

    def _check_drained(self) -> None:
        if self._pipes_done and not self._terminals and not self._drained.done():
            self._drained.set_result(None)

    # asyncio.SubprocessProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self.pid = transport.get_pid()
        self._on_started(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._on_output(fd, data)

    def process_exited(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pipes_done = True
        self._check_drained()

    # What the launch asks

    @property
    def returncode(self) -> int | None:
        """The return code, negative for a signal, or None while the process runs."""
        return None if self._transport is None else self._transport.get_returncode()

    async def exited(self) -> int:
        """The return code, once the process has ended and its output has been delivered."""
        await self._ended
        assert self._transport is not None
        await asyncio.wait([self._drained], timeout=_DRAIN_SECONDS)
        code = self._transport.get_returncode()
        self._close_terminals()
        self._transport.close()
        assert code is not None
        return code

    async def has_ended_within(self, seconds: float) -> bool:
        """Whether the process ended in that time."""
        await asyncio.wait([self._ended], timeout=seconds)
        return self._ended.done()

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process and all it started; False when it has ended already."""
        if self._ended.done():
            return False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)
            return True
        return False

    def write(self, data: bytes) -> None:
        """Write to the standard input of the process."""
        assert self._transport is not None
        stdin = self._transport.get_pipe_transport(0)
        if isinstance(stdin, asyncio.WriteTransport):
            stdin.write(data)
