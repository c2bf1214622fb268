"""Events of processes, and matchers that choose a process."""

from ....module_places import offer_class_modules
from .events import (
    ProcessExited,
    ProcessIO,
    ProcessStarted,
    ProcessStderr,
    ProcessStdin,
    ProcessStdout,
    ProcessTargetedEvent,
    RunningProcessEvent,
    ShutdownProcess,
    SignalProcess,
)
from .matchers import matches_executable, matches_name, matches_pid

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
