"""Events of processes, and matchers that choose a process."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ....places import offer_class_modules
from ...description import Event

if TYPE_CHECKING:
    from ...description import LaunchContext


# The action behind an event of a process, as far as events and what answers them know it.


class ProcessAction(Protocol):
    """What `ExecuteLocal` is to events. It emits them, so it is above them and they cannot name it."""

    @property
    def process_details(self) -> dict[str, Any] | None:
        """`name`, `cmd`, `cwd`, `env` and, once started, `pid`; None before the action is visited."""

    @property
    def return_code(self) -> int | None:
        """The return code, negative for a signal, or None while there is none."""

    def describe(self) -> str: ...

    def request_shutdown(self, context: LaunchContext) -> None:
        """End the process, and do not start it again."""

    def send_signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process; False when it does not run."""

    def write_stdin(self, data: bytes) -> None:
        """Write to the standard input of the process, if it runs."""


# What happens to processes, and what is asked of them.


_MESSAGE_FD = {"stdin": 0, "stdout": 1, "stderr": 2}


class RunningProcessEvent(Event):
    """Something happened to a process that was started."""

    name = "launch.events.process.RunningProcessEvent"

    def __init__(
        self,
        *,
        action: ProcessAction,
        name: str,
        cmd: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        pid: int,
        **kwargs: Any,
    ) -> None:
        self.action = action
        self.process_name = name
        self.cmd = list(cmd)
        self.cwd = cwd
        self.env = env
        self.pid = pid

    @property
    def execute_process_action(self) -> ProcessAction:
        """The action that started the process."""
        return self.action


class ProcessStarted(RunningProcessEvent):
    """A process has started."""

    name = "launch.events.process.ProcessStarted"


class ProcessExited(RunningProcessEvent):
    """A process has ended; all it wrote has been delivered. `returncode` is negative for a signal."""

    name = "launch.events.process.ProcessExited"

    def __init__(self, *, returncode: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.returncode = returncode


class ProcessIO(RunningProcessEvent):
    """A process wrote `text` (bytes, not cut at lines)."""

    name = "launch.events.process.ProcessIO"

    def __init__(self, *, text: bytes, fd: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text
        self.fd = fd

    @property
    def from_stdin(self) -> bool:
        """Whether the text went to the process."""
        return self.fd == _MESSAGE_FD["stdin"]

    @property
    def from_stdout(self) -> bool:
        """Whether the text came from standard output."""
        return self.fd == _MESSAGE_FD["stdout"]

    @property
    def from_stderr(self) -> bool:
        """Whether the text came from standard error."""
        return self.fd == _MESSAGE_FD["stderr"]


class ProcessStdout(ProcessIO):
    """Text from standard output."""

    name = "launch.events.process.ProcessStdout"

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        super().__init__(text=text, fd=_MESSAGE_FD["stdout"], **kwargs)


class ProcessStderr(ProcessIO):
    """Text from standard error."""

    name = "launch.events.process.ProcessStderr"

    def __init__(self, *, text: bytes, **kwargs: Any) -> None:
        super().__init__(text=text, fd=_MESSAGE_FD["stderr"], **kwargs)


class ProcessTargetedEvent(Event):
    """Something asked of the processes that `process_matcher` chooses."""

    name = "launch.events.process.ProcessTargetedEvent"

    def __init__(self, *, process_matcher: Callable[[ProcessAction], bool]) -> None:
        self.process_matcher = process_matcher


class ShutdownProcess(ProcessTargetedEvent):
    """End the process: SIGINT, then SIGTERM, then SIGKILL."""

    name = "launch.events.process.ShutdownProcess"


class SignalProcess(ProcessTargetedEvent):
    """Send a signal, given by number or by name. Raises ValueError for one that does not exist."""

    name = "launch.events.process.SignalProcess"

    def __init__(
        self, *, signal_number: str | int | signal.Signals, process_matcher: Callable[[ProcessAction], bool]
    ) -> None:
        super().__init__(process_matcher=process_matcher)
        if isinstance(signal_number, str):
            if signal_number not in signal.Signals.__members__:
                raise ValueError(
                    f"'{signal_number}' is no signal; write for instance 'SIGINT' or signal.SIGINT"
                )
            self.signal = signal.Signals[signal_number]
        else:
            self.signal = signal.Signals(signal_number)

    @property
    def signal_name(self) -> str:
        """The name, `SIGINT` for instance."""
        return self.signal.name


class ProcessStdin(ProcessTargetedEvent):
    """Write `text` to the standard input of the process."""

    name = "launch.events.process.ProcessStdin"

    def __init__(self, *, text: bytes, process_matcher: Callable[[ProcessAction], bool]) -> None:
        super().__init__(process_matcher=process_matcher)
        self.text = text


# Which process an event is for.


def matches_action(process_action: ProcessAction) -> Callable[[ProcessAction], bool]:
    """The process started by this very action."""
    return lambda action: action is process_action


def matches_pid(pid: int) -> Callable[[ProcessAction], bool]:
    """The process with this id."""
    return lambda action: action.process_details is not None and action.process_details["pid"] == pid


def matches_name(name: str) -> Callable[[ProcessAction], bool]:
    """Processes whose name, with or without its number, is this."""

    def matches(action: ProcessAction) -> bool:
        if action.process_details is None:
            return False
        found = action.process_details["name"]
        return bool(found == name or found.rsplit("-", 1)[0] == name)

    return matches


def matches_executable(executable: str) -> Callable[[ProcessAction], bool]:
    """Processes whose command starts with this executable."""
    return lambda action: (
        action.process_details is not None and action.process_details["cmd"][0].split("/")[-1] == executable
    )


__all__ = [
    "ProcessExited",
    "ProcessIO",
    "ProcessStarted",
    "ProcessStderr",
    "ProcessStdin",
    "ProcessStdout",
    "ProcessTargetedEvent",
    "RunningProcessEvent",
    "ShutdownProcess",
    "SignalProcess",
    "matches_executable",
    "matches_name",
    "matches_pid",
]

offer_class_modules(__name__, process_matchers=[matches_executable, matches_name, matches_pid])
