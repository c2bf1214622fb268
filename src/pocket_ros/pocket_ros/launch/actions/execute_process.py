"""Run a command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..descriptions import Executable
from ..descriptions.executable import SomeEnvironment
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from .execute_local import ExecuteLocal


class ExecuteProcess(ExecuteLocal):
    """Runs a command, given as a list of arguments; further arguments are those of ExecuteLocal."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: SomeEnvironment | None = None,
        additional_env: SomeEnvironment | None = None,
        **kwargs: Any,
    ) -> None:
        executable = Executable(
            cmd=cmd, prefix=prefix, name=name, cwd=cwd, env=env, additional_env=additional_env
        )
        super().__init__(process_description=executable, **kwargs)

    @property
    def name(self) -> Any:
        """The name with its number once the action was visited, before that the name given, as
        substitutions.
        """
        return self.process_description.final_name or self.process_description.name

    @property
    def cmd(self) -> list[Any]:
        """The command once the action was visited, before that as lists of substitutions."""
        return self.process_description.final_cmd or list(self.process_description.cmd)

    @property
    def cwd(self) -> Any:
        """The folder to run in."""
        return self.process_description.final_cwd or self.process_description.cwd

    @property
    def env(self) -> SomeEnvironment | None:
        """The environment given."""
        return self.process_description.env

    @property
    def additional_env(self) -> SomeEnvironment | None:
        """Variables on top of the environment."""
        return self.process_description.additional_env

    def describe(self) -> str:
        def text(part: list[Substitution]) -> str:
            return " + ".join(sub.describe() for sub in part)

        return f"ExecuteProcess(cmd=[{', '.join(text(part) for part in self.process_description.cmd)}])"
