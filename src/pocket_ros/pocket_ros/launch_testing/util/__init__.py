"""Helpers for launch tests."""

from __future__ import annotations

import sys
from typing import Any, Protocol, TypeAlias

from ...launch.actions import ExecuteLocal, ExecuteProcess
from ...launch.events.process import ProcessAction, ProcessIO
from ...places import offer_places

# A process that does nothing until it is told to end.


# Blocked, SIGINT waits for `sigwait`: between a handler and `pause` it could come and be missed.
_PROGRAM = "from signal import *; pthread_sigmask(SIG_BLOCK, [SIGINT]); sigwait([SIGINT])"


class KeepAliveProc(ExecuteProcess):
    """Keeps a launch from ending because everything else has ended."""

    def __init__(self) -> None:
        super().__init__(cmd=[sys.executable, "-c", _PROGRAM])


# Which processes a test means. PYTEST_DONT_REWRITE


class NoArguments:
    """The type of `NO_CMD_ARGS`."""


NO_CMD_ARGS = NoArguments()
"""Stands for a process without arguments."""

CommandArguments: TypeAlias = str | NoArguments | None
"""Part of the arguments of a process, `NO_CMD_ARGS`, or None for any."""
ProcessChoice: TypeAlias = ExecuteLocal | str | None
"""Which processes are meant: an action, part of a name, or None for all."""


class NoMatchingProcessException(Exception):
    """No recorded process is the one asked for."""


class Recorded(Protocol):
    """Something that knows processes: the handlers of output and of exit codes."""

    def processes(self) -> list[ProcessAction]:
        """The actions of all processes something is known of."""
        ...


class RecordedOutput(Recorded, Protocol):
    """Something that knows what processes wrote."""

    def __getitem__(self, key: ProcessAction, /) -> list[ProcessIO]:
        """The output of one process."""
        ...


class RecordedEnds(Recorded, Protocol):
    """Something that knows how processes ended."""

    def __getitem__(self, key: ProcessAction, /) -> Any:
        """The event of one process; after its end it has `returncode`."""
        ...


def name_of(action: ProcessAction) -> str:
    """The name of a process, with its number."""
    return str((action.process_details or {}).get("name", ""))


def _arguments(action: ProcessAction) -> list[str]:
    return [str(part) for part in (action.process_details or {}).get("cmd", [])][1:]


def _matches(action: ProcessAction, process: str, cmd_args: CommandArguments) -> bool:
    if process not in name_of(action):
        return False
    if cmd_args is None:
        return True
    found = _arguments(action)
    return not found if isinstance(cmd_args, NoArguments) else cmd_args in " ".join(found)


def resolveProcesses(
    info_obj: Recorded,
    *,
    process: ProcessChoice = None,
    cmd_args: CommandArguments = None,
    strict_proc_matching: bool = True,
) -> list[ProcessAction]:
    """The recorded processes that `process` stands for: an action, part of a name, or None for all.

    `cmd_args` chooses among equal names by part of the arguments. Raises NoMatchingProcessException without
    a match, and Exception for several when `strict_proc_matching`.
    """
    known = list(info_obj.processes())
    if process is None:
        if not known:
            raise NoMatchingProcessException("No data recorded for any process")
        return known
    if isinstance(process, ExecuteLocal):
        if process not in known:
            raise NoMatchingProcessException(f"No data recorded for process {process.describe()}")
        return [process]
    if not isinstance(process, str):
        raise TypeError(f"process must be an action, a name or None, got {type(process).__name__}")
    found = [action for action in known if _matches(action, process, cmd_args)]
    names = ", ".join(sorted(name_of(action) for action in known)) or "(none)"
    if not found:
        raise NoMatchingProcessException(
            f"Did not find any processes matching name '{process}' and args '{cmd_args}'. Procs: {names}"
        )
    if strict_proc_matching and len(found) > 1:
        several = ", ".join(name_of(action) for action in found)
        raise Exception(
            f"Found multiple processes matching name '{process}' and cmd_args '{cmd_args}': {several}; "
            "pass cmd_args, the action itself, or strict_proc_matching=False"
        )
    return found


__all__ = ["NO_CMD_ARGS", "KeepAliveProc", "NoMatchingProcessException", "resolveProcesses"]

offer_places(__name__)
