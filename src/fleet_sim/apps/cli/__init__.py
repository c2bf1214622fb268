"""The command line: `fleet-sim`, one file per command.

Each file has `add(commands)`, which declares the options, and `execute(args)`, which returns the exit code. `main.py`
lists the commands and those of other packages. What a command needs is imported when it is executed, so that `--help`
is fast.
"""
