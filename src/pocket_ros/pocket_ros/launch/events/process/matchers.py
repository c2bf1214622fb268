"""Which process an event is for."""

from __future__ import annotations

from collections.abc import Callable

from .process_action import ProcessAction


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
