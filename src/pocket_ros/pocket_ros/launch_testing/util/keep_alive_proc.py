"""A process that does nothing until it is told to end."""

import sys

from ...launch.actions import ExecuteProcess

# Blocked, SIGINT waits for `sigwait`: between a handler and `pause` it could come and be missed.
_PROGRAM = "from signal import *; pthread_sigmask(SIG_BLOCK, [SIGINT]); sigwait([SIGINT])"


class KeepAliveProc(ExecuteProcess):
    """Keeps a launch from ending because everything else has ended."""

    def __init__(self) -> None:
        super().__init__(cmd=[sys.executable, "-c", _PROGRAM])
