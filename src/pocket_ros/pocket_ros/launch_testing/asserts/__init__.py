"""Assertions about output and exit codes.

PYTEST_DONT_REWRITE
"""

from ..util.proc_lookup import NO_CMD_ARGS
from .assert_exit_codes import (
    EXIT_OK,
    EXIT_SIGINT,
    EXIT_SIGKILL,
    EXIT_SIGQUIT,
    EXIT_SIGSEGV,
    assertExitCodes,
)
from .assert_output import assertDefaultStream, assertInStderr, assertInStdout, assertInStream
from .assert_sequential_output import SequentialTextChecker, assertSequentialStdout

__all__ = [
    "EXIT_OK",
    "EXIT_SIGINT",
    "EXIT_SIGKILL",
    "EXIT_SIGQUIT",
    "EXIT_SIGSEGV",
    "NO_CMD_ARGS",
    "SequentialTextChecker",
    "assertDefaultStream",
    "assertExitCodes",
    "assertInStderr",
    "assertInStdout",
    "assertInStream",
    "assertSequentialStdout",
]
