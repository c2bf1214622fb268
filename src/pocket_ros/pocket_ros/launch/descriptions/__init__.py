"""Descriptions of what actions run."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ...places import offer_places
from ..description import SomeSubstitutionsType, Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_mapping, perform_substitutions

if TYPE_CHECKING:
    from ..action import Action
    from ..description import LaunchContext


# A command with its folder and environment.


_counter = itertools.count(1)
SomeEnvironment = Mapping[SomeSubstitutionsType, SomeSubstitutionsType]


class Executable:
    """What to run. `prepare` performs the substitutions; the `final_…` properties hold the outcome."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        prefix: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: SomeEnvironment | None = None,
        additional_env: SomeEnvironment | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
    ) -> None:
        self._arguments = [normalize_to_list_of_substitutions(part) for part in (arguments or ())]
        self._cmd = [*(normalize_to_list_of_substitutions(part) for part in cmd), *self._arguments]
        self._prefix = None if prefix is None else normalize_to_list_of_substitutions(prefix)
        self._name = None if name is None else normalize_to_list_of_substitutions(name)
        self._cwd = None if cwd is None else normalize_to_list_of_substitutions(cwd)
        self._env = env
        self._additional_env = additional_env
        self.final_name: str = ""
        self.final_cmd: list[str] = []
        self.final_cwd: str | None = None
        self.final_env: dict[str, str] | None = None

    @property
    def cmd(self) -> list[list[Substitution]]:
        """The command, one list of substitutions an argument."""
        return self._cmd

    @property
    def prefix(self) -> list[Substitution] | None:
        """What the command is run by, a debugger for instance, where it was given."""
        return self._prefix

    @property
    def arguments(self) -> list[list[Substitution]]:
        """The arguments that were given beside the command, which has them at its end."""
        return self._arguments

    @property
    def name(self) -> list[Substitution] | None:
        """The name, where one was given."""
        return self._name

    @property
    def cwd(self) -> list[Substitution] | None:
        """The folder to run in, where one was given."""
        return self._cwd

    @property
    def env(self) -> SomeEnvironment | None:
        """The whole environment, where one was given."""
        return self._env

    @property
    def additional_env(self) -> SomeEnvironment | None:
        """Variables on top of the environment."""
        return self._additional_env

    def prepare(self, context: LaunchContext, action: Action | None = None) -> None:
        """Perform the substitutions; the name gets a number that no other process of the launch has."""
        cmd = [perform_substitutions(context, part) for part in self._cmd]
        name = os.path.basename(cmd[0]) if self._name is None else perform_substitutions(context, self._name)
        self.final_name = f"{name.split(' ')[0] if self._name is None else name}-{next(_counter)}"
        self.final_cmd = [*self._prefix_for(context, name), *cmd]
        self.final_cwd = None if self._cwd is None else perform_substitutions(context, self._cwd)
        base = dict(os.environ) if self._env is None else perform_mapping(context, self._env)
        self.final_env = {**base, **perform_mapping(context, self._additional_env or {})}

    def _prefix_for(self, context: LaunchContext, name: str) -> list[str]:
        if self._prefix is not None:
            return shlex.split(perform_substitutions(context, self._prefix))
        wanted = context.launch_configurations.get("launch-prefix-filter")
        if wanted is not None and re.match(wanted, name) is None:
            return []
        return shlex.split(context.launch_configurations.get("launch-prefix", ""))


__all__ = ["Executable"]

offer_places(__name__)
