"""The command line: `fleet-sim`, one file per command.

Each file has `add(commands)`, which declares the options, and `execute(args)`, which returns the exit code. `main.py`
lists the commands and those of other packages. What a command needs is imported when it is executed, so that `--help`
is fast.
"""

import signal

from fleet_sim.base.errors import check_room, end_for_memory, end_silently_at_ctrl_c

ROOM = 180 << 20
"""Bytes of address space that loading NumPy and the commands takes."""


def start() -> int:
    """Run `main.main`; Ctrl-C while it is being imported ends the program without a traceback."""
    before = end_silently_at_ctrl_c()
    try:
        # NumPy would end in a traceback, or in the middle of a library.
        check_room(ROOM, "fleet-sim")
        from fleet_sim.apps.cli.main import main
    except (MemoryError, ImportError) as error:
        return end_for_memory("fleet-sim", error)
    signal.signal(signal.SIGINT, before)
    return main()
