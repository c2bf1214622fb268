"""What happens to processes, and what is asked of them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...event import Event
from .process_action import ProcessAction

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
