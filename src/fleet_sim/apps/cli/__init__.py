"""The command line: `fleet-sim`, one file per command.

Each file has `add(commands)`, which declares the options, and `execute(args)`, which returns the exit code. `main.py`
lists the commands and those of other packages. What a command needs is imported when it is executed, so that `--help`
is fast.
"""

import signal


def start() -> int:
    """Run `main.main`; Ctrl-C while it is being imported ends the program without a traceback."""
    before = signal.getsignal(signal.SIGINT)
    # In the background of a shell it is ignored, and stays so.
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from fleet_sim.apps.cli.main import main

    signal.signal(signal.SIGINT, before)
    return main()
