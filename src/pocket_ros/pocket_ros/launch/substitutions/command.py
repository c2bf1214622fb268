"""The output of a command."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..logging import get_logger
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


@expose_substitution("command")
class Command(SubstitutionOfWords):
    """What a command writes to standard output.

    `on_stderr` says what text on standard error means: `fail`, `ignore`, `warn` or `capture` (it is added).
    Raises SubstitutionFailure when the command cannot be started, when it fails, and by `fail`.
    """

    _ros_words = Words("command", ("command", "on_stderr"), optional=1, described="Command")

    def __init__(self, command: SomeSubstitutionsType, *, on_stderr: SomeSubstitutionsType = "fail") -> None:
        self._command = normalize_to_list_of_substitutions(command)
        self._on_stderr = normalize_to_list_of_substitutions(on_stderr)

    @property
    def command(self) -> list[Substitution]:
        """The command, as substitutions."""
        return self._command

    @property
    def on_stderr(self) -> list[Substitution]:
        """What text on standard error means, as substitutions."""
        return self._on_stderr

    def perform(self, context: LaunchContext) -> str:
        command = perform_substitutions(context, self._command)
        on_stderr = perform_substitutions(context, self._on_stderr)
        if on_stderr not in ("fail", "ignore", "warn", "capture"):
            raise SubstitutionFailure(
                f"expected on_stderr to be one of: 'fail', 'ignore', 'warn' or 'capture', got '{on_stderr}'"
            )
        try:
            stderr = subprocess.STDOUT if on_stderr == "capture" else subprocess.PIPE
            done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, stderr=stderr, text=True)
        except OSError as error:
            raise SubstitutionFailure(f"executing '{command}' failed: {error}") from error
        if done.returncode != 0:
            raise SubstitutionFailure(
                f"executed command failed. Command: {command}\nCaptured stderr output: {done.stderr or ''}"
            )
        if done.stderr and on_stderr == "fail":
            raise SubstitutionFailure(
                f"executed command showed stderr output. Command: {command}\n"
                f"Captured stderr output:\n{done.stderr}"
            )
        if done.stderr and on_stderr == "warn":
            get_logger("launch").warning(
                f"executed command showed stderr output. Command: {command}\n{done.stderr}"
            )
        return done.stdout
