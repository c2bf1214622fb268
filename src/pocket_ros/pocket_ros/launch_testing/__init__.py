"""Tests of launched processes: a description to launch, tests while it runs, tests after its end.

PYTEST_DONT_REWRITE
"""

from ..launch.argument_listing import print_arguments_of_launch_description
from ..module_places import offer_modules
from . import actions, asserts, event_handlers, markers, tools, util
from .io_handler import ActiveIoHandler, IoHandler
from .parametrize import parametrize
from .post_shutdown_test import post_shutdown_test
from .proc_info_handler import ActiveProcInfoHandler, ProcInfoHandler
from .ready_aggregator import ReadyAggregator
from .ready_to_test_action_timeout import ready_to_test_action_timeout

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

_PRINT = "print_arguments_of_launch_description"
offer_modules(
    __name__,
    {
        "decorator": {"post_shutdown_test": post_shutdown_test},
        "print_arguments": {_PRINT: print_arguments_of_launch_description},
    },
)
