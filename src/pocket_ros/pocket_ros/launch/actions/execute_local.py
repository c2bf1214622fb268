"""Run a process and see to its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from .. import description as descriptions
from .. import utilities
from ..action import Action
from ..conditions import evaluate_condition_expression
from ..descriptions import Executable
from ..events import Shutdown, process
from ..logging import get_logger, get_output_loggers
from ..substitutions import LaunchConfiguration

# A child process on the event loop.


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


# What events ask of a process, and what its end leads to.


OnExit = (
    descriptions.SomeEntitiesType
    | Callable[[process.ProcessExited, descriptions.LaunchContext], descriptions.SomeEntitiesType | None]
)


class ProcessControl(descriptions.BaseEventHandler):
    """Passes shutdowns, signals and input on to one process, and answers its end with `on_exit`."""

    def __init__(self, action: process.ProcessAction, on_exit: OnExit | None = None) -> None:
        super().__init__(matcher=self._is_for_me)
        self._action = action
        self._on_exit = on_exit

    def _is_for_me(self, event: descriptions.Event) -> bool:
        if isinstance(event, process.ProcessTargetedEvent):
            return event.process_matcher(self._action)
        if isinstance(event, process.ProcessExited):
            return self._on_exit is not None and event.action is self._action
        return isinstance(event, Shutdown)

    def handle(
        self, event: descriptions.Event, context: descriptions.LaunchContext
    ) -> descriptions.SomeEntitiesType | None:
        if isinstance(event, process.ProcessExited):
            context.extend_locals({"event": event})
            return self._on_exit(event, context) if callable(self._on_exit) else self._on_exit
        if isinstance(event, Shutdown | process.ShutdownProcess):
            self._action.request_shutdown(context)
        elif isinstance(event, process.SignalProcess):
            self._action.send_signal(event.signal)
        elif isinstance(event, process.ProcessStdin):
            self._action.write_stdin(event.text)
        return None


# What a process writes, line by line to the loggers.


class ProcessOutput:
    """Cuts two streams into lines, logs them, and keeps the text where asked to."""

    def __init__(
        self,
        name: str,
        output: str | Mapping[str, str | set[str]],
        format_line: Callable[[str], str],
        *,
        keep: bool,
    ) -> None:
        self._loggers = dict(zip(("stdout", "stderr"), get_output_loggers(name, output), strict=True))
        self._format_line = format_line
        self._rest = {"stdout": b"", "stderr": b""}
        self._kept: dict[str, list[bytes]] | None = {"stdout": [], "stderr": []} if keep else None

    def write(self, stream: str, data: bytes) -> None:
        """Take a piece of a stream (`stdout` or `stderr`) and log the lines it completes."""
        if self._kept is not None:
            self._kept[stream].append(data)
        *lines, self._rest[stream] = (self._rest[stream] + data).split(b"\n")
        for line in lines:
            self._log(stream, line)

    def flush(self) -> None:
        """Log what is left of a last line that was not ended."""
        for stream, rest in self._rest.items():
            if rest:
                self._log(stream, rest)
                self._rest[stream] = b""

    def text(self, stream: str) -> str:
        """All that was kept of a stream."""
        return b"".join(self._kept[stream] if self._kept else []).decode(errors="replace")

    def _log(self, stream: str, line: bytes) -> None:
        self._loggers[stream].info("%s", self._format_line(line.rstrip(b"\r").decode(errors="replace")))


class ExecuteLocal(Action):
    """Runs a process, logs what it writes and ends it with the launch.

    A shutdown sends SIGINT, after `sigterm_timeout` seconds SIGTERM, after `sigkill_timeout` more SIGKILL,
    each to the process and all it started. `output` is as `launch.logging.get_output_loggers` has it; the
    environment variable OVERRIDE_LAUNCH_PROCESS_OUTPUT wins over it. `on_exit` is visited when the process
    ends. With `respawn` the process is started again whenever it ends by itself, at most
    `respawn_max_retries` times unless that is negative.
    """

    def __init__(
        self,
        *,
        process_description: Executable,
        shell: bool = False,
        sigterm_timeout: descriptions.SomeSubstitutionsType | float | None = None,
        sigkill_timeout: descriptions.SomeSubstitutionsType | float | None = None,
        emulate_tty: bool = False,
        output: descriptions.SomeSubstitutionsType | Mapping[str, Any] = "log",
        output_format: str = "[{this.process_description.final_name}] {line}",
        cached_output: bool = False,
        log_cmd: bool = False,
        on_exit: OnExit | None = None,
        respawn: bool | descriptions.SomeSubstitutionsType = False,
        respawn_delay: float | descriptions.SomeSubstitutionsType | None = None,
        respawn_max_retries: int = -1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.process_description = process_description
        self.shell = shell
        self._timeouts = (
            LaunchConfiguration("sigterm_timeout", default=5) if sigterm_timeout is None else sigterm_timeout,
            LaunchConfiguration("sigkill_timeout", default=5) if sigkill_timeout is None else sigkill_timeout,
        )
        self.emulate_tty = emulate_tty
        self.output = os.environ.get("OVERRIDE_LAUNCH_PROCESS_OUTPUT", output)
        self._output_format = output_format
        self._cached_output = cached_output
        self._log_cmd = log_cmd
        self._on_exit = on_exit
        self._respawn = utilities.normalize_typed_substitution(respawn)
        self._respawn_delay = respawn_delay
        self._respawn_max_retries = respawn_max_retries
        self._details: dict[str, Any] | None = None
        self._child: ChildProcess | None = None
        self._completed: asyncio.Future[None] | None = None
        self._stop_requested: asyncio.Event | None = None
        self._streams: ProcessOutput | None = None
        self._escalation: asyncio.Task[None] | None = None

    # What others may ask

    @property
    def sigterm_timeout(self) -> descriptions.SomeSubstitutionsType | float:
        """Seconds from SIGINT to SIGTERM."""
        return self._timeouts[0]

    @property
    def sigkill_timeout(self) -> descriptions.SomeSubstitutionsType | float:
        """Seconds from SIGTERM to SIGKILL."""
        return self._timeouts[1]

    @property
    def process_details(self) -> dict[str, Any] | None:
        """`name`, `cmd`, `cwd`, `env` and, once started, `pid`; None before the action is visited."""
        return self._details

    @property
    def return_code(self) -> int | None:
        """The return code, negative for a signal, or None while there is none."""
        return None if self._child is None else self._child.returncode

    def get_stdout(self) -> str:
        """All of standard output. Raises RuntimeError unless `cached_output` was given."""
        return self._cached("stdout")

    def get_stderr(self) -> str:
        """All of standard error. Raises RuntimeError unless `cached_output` was given."""
        return self._cached("stderr")

    def _cached(self, stream: str) -> str:
        if not self._cached_output:
            raise RuntimeError(f"pass cached_output=True to keep the {stream} of '{self.describe()}'")
        return "" if self._streams is None else self._streams.text(stream)

    def get_sub_entities(self) -> list[descriptions.LaunchDescriptionEntity]:
        return list(self._on_exit) if isinstance(self._on_exit, list) else []

    def get_asyncio_future(self) -> asyncio.Future[Any] | None:
        return self._completed

    # Running

    def prepare(self, context: descriptions.LaunchContext) -> None:
        """Perform the substitutions; what becomes known is in `process_details`."""
        description = self.process_description
        description.prepare(context, self)
        self._details = {
            "action": self,
            "name": description.final_name,
            "cmd": description.final_cmd,
            "cwd": description.final_cwd,
            "env": description.final_env,
            "pid": 0,
        }

    def execute(
        self, context: descriptions.LaunchContext
    ) -> list[descriptions.LaunchDescriptionEntity] | None:
        if self._completed is not None:
            raise RuntimeError(f"{self.describe()} was visited twice; create one action for each process")
        if context.is_shutdown:
            return None
        self.prepare(context)
        assert context.asyncio_loop is not None
        output = self.output
        if not isinstance(output, Mapping):
            output = utilities.perform_substitutions(
                context, utilities.normalize_to_list_of_substitutions(output)
            )
        name = self.process_description.final_name
        self._streams = ProcessOutput(name, output, self._format_line, keep=self._cached_output)
        self._completed = context.asyncio_loop.create_future()
        self._stop_requested = asyncio.Event()
        context.register_event_handler(ProcessControl(self, self._on_exit))
        task = context.asyncio_loop.create_task(self._supervise(context))
        task.add_done_callback(self._complete)
        return None

    def _format_line(self, line: str) -> str:
        return self._output_format.format(line=line, this=self)

    def _complete(self, task: asyncio.Task[None]) -> None:
        assert self._completed is not None
        if self._completed.done():
            return
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._completed.set_exception(error)
        else:
            self._completed.set_result(None)

    async def _supervise(self, context: descriptions.LaunchContext) -> None:
        assert self._stop_requested is not None
        retries = 0
        while not self._stop_requested.is_set():
            await self._run_once(context)
            limit = self._respawn_max_retries
            respawn = utilities.perform_typed_substitution(context, self._respawn, bool)
            if not respawn or (limit >= 0 and retries >= limit):
                return
            retries += 1
            if self._respawn_delay is not None:
                delay = utilities.perform_float(context, self._respawn_delay)
                await asyncio.wait([asyncio.ensure_future(self._stop_requested.wait())], timeout=delay)

    async def _run_once(self, context: descriptions.LaunchContext) -> None:
        details, streams = self._details, self._streams
        assert details is not None and streams is not None and self._stop_requested is not None
        logger = get_logger(details["name"])
        command = " ".join(part for part in details["cmd"] if part.strip())
        if self._log_cmd:
            logger.info(f"process details: cmd='{command}', cwd='{details['cwd']}', custom_env?=True")
        try:
            child = await self._start(context, details, streams)
        except OSError as error:
            logger.error(f"cannot start '{command}': {error.strerror or error}")
            context.emit_event_sync(process.ProcessExited(returncode=127, **details))
            return
        code = await child.exited()
        streams.flush()
        if code == 0:
            logger.info(f"process has finished cleanly [pid {child.pid}]")
        else:
            logger.error(f"process has died [pid {child.pid}, exit code {code}, cmd '{command}'].")
        context.emit_event_sync(process.ProcessExited(returncode=code, **details))

    async def _start(
        self, context: descriptions.LaunchContext, details: dict[str, Any], streams: ProcessOutput
    ) -> ChildProcess:
        def on_started(child: ChildProcess) -> None:
            self._child = child
            details["pid"] = child.pid
            self._logger.info(f"process started with pid [{child.pid}]")
            context.emit_event_sync(process.ProcessStarted(**details))
            if self._stop_requested is not None and self._stop_requested.is_set():
                self._begin_shutdown(context)

        def on_output(fd: int, data: bytes) -> None:
            streams.write("stdout" if fd == 1 else "stderr", data)
            event = process.ProcessStdout if fd == 1 else process.ProcessStderr
            context.emit_event_sync(event(text=data, **details))

        emulate_tty = self.emulate_tty
        if "emulate_tty" in context.launch_configurations:
            emulate_tty = evaluate_condition_expression(context, [LaunchConfiguration("emulate_tty")])
        return await ChildProcess.start(
            details["cmd"],
            cwd=details["cwd"],
            env=details["env"],
            shell=self.shell,
            emulate_tty=emulate_tty,
            on_started=on_started,
            on_output=on_output,
        )

    # Ending

    def request_shutdown(self, context: descriptions.LaunchContext) -> None:
        """End the process, and do not start it again."""
        if self._stop_requested is not None and not self._stop_requested.is_set():
            self._stop_requested.set()
            if self._child is not None:
                self._begin_shutdown(context)

    def _begin_shutdown(self, context: descriptions.LaunchContext) -> None:
        assert context.asyncio_loop is not None and self._child is not None
        seconds = [utilities.perform_float(context, timeout) for timeout in self._timeouts]
        self._escalation = context.asyncio_loop.create_task(self._escalate(self._child, *seconds))

    async def _escalate(self, child: ChildProcess, sigterm_timeout: float, sigkill_timeout: float) -> None:
        steps = ((signal.SIGINT, sigterm_timeout, "SIGTERM"), (signal.SIGTERM, sigkill_timeout, "SIGKILL"))
        name = self.process_description.final_name
        for number, seconds, following in steps:
            if not self.send_signal(number) or await child.has_ended_within(seconds):
                return
            self._logger.error(
                f"process[{name}] failed to terminate '{seconds:g}' seconds after "
                f"receiving '{number.name}', escalating to '{following}'"
            )
        self.send_signal(signal.SIGKILL)

    @property
    def _logger(self) -> Any:
        return get_logger(self.process_description.final_name)

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process; False when it does not run.

        Raises RuntimeError before it was started.
        """
        if self._child is None:
            raise RuntimeError(f"signal '{number.name}' for '{self.describe()}', which has not been started")
        if self._child.returncode is not None:
            return False
        self._logger.info(f"sending signal '{number.name}' to process[{self.process_description.final_name}]")
        return self._child.send_signal(number)

    def write_stdin(self, data: bytes) -> None:
        """Write to the standard input of the process, if it runs."""
        if self._child is not None and self._child.returncode is None:
            self._child.write(data)
