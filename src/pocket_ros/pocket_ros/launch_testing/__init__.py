"""Tests of launched processes: a description to launch, tests while it runs, tests after its end.

PYTEST_DONT_REWRITE
"""

from ..launch.launch_service import print_arguments_of_launch_description  # noqa: F401 - its public place takes it from here
from ..places import not_covered, offer_places
from . import actions, asserts, tools, util
from .io_handler import ActiveIoHandler, ActiveProcInfoHandler, IoHandler, ProcInfoHandler
from .loader import ReadyAggregator, parametrize, post_shutdown_test, ready_to_test_action_timeout

__all__ = [
    "ActiveIoHandler",
    "ActiveProcInfoHandler",
    "IoHandler",
    "ProcInfoHandler",
    "ReadyAggregator",
    "actions",
    "asserts",
    "event_handlers",
    "markers",
    "parametrize",
    "post_shutdown_test",
    "ready_to_test_action_timeout",
    "tools",
    "util",
]

offer_places(__name__)
__getattr__ = not_covered("launch_testing")
