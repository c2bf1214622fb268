"""A process that does nothing until it is told to end."""

import sys

from ...launch.actions import ExecuteProcess

_PROGRAM = "import signal; signal.signal(signal.SIGINT, lambda *_: exit(0)); signal.pause()"


class KeepAliveProc(ExecuteProcess):
    """Keeps a launch from ending because everything else has ended."""

    def __init__(self) -> None:
        super().__init__(cmd=[sys.executable, "-c", _PROGRAM])
