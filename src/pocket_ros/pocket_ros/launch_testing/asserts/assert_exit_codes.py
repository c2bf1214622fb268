"""How processes ended.

PYTEST_DONT_REWRITE
"""

from collections.abc import Sequence

from ..util.proc_lookup import CommandArguments, ProcessChoice, RecordedEnds, resolveProcesses

EXIT_OK = 0
EXIT_SIGINT = 130
EXIT_SIGQUIT = 131
EXIT_SIGKILL = 137
EXIT_SIGSEGV = 139
EXIT_FORCED = 1


def assertExitCodes(
    proc_info: RecordedEnds,
    allowable_exit_codes: Sequence[int] = (EXIT_OK,),
    process: ProcessChoice = None,
    cmd_args: CommandArguments = None,
    *,
    strict_proc_matching: bool = True,
) -> None:
    """Assert that processes, all of them unless one is named, ended with one of the codes.

    A process that a signal ended has the negative number of the signal.
    """
    for code in allowable_exit_codes:
        if not isinstance(code, int):
            raise AssertionError(f"Provided exit code {code!r} is not an int")
    chosen = resolveProcesses(
        proc_info, process=process, cmd_args=cmd_args, strict_proc_matching=strict_proc_matching
    )
    for action in chosen:
        event = proc_info[action]
        if not hasattr(event, "returncode"):
            raise AssertionError(f"Proc {event.process_name} has not exited")
        if event.returncode not in allowable_exit_codes:
            raise AssertionError(f"Proc {event.process_name} exited with code {event.returncode}")
