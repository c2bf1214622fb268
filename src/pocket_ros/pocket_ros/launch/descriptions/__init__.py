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
        self.arguments = [normalize_to_list_of_substitutions(part) for part in (arguments or ())]
        self.cmd = [*(normalize_to_list_of_substitutions(part) for part in cmd), *self.arguments]
        self._prefix = None if prefix is None else normalize_to_list_of_substitutions(prefix)
        self.name = None if name is None else normalize_to_list_of_substitutions(name)
        self.cwd = None if cwd is None else normalize_to_list_of_substitutions(cwd)
        self.env = env
        self.additional_env = additional_env
        self.final_name: str = ""
        self.final_cmd: list[str] = []
        self.final_cwd: str | None = None
        self.final_env: dict[str, str] | None = None

    @property
    def prefix(self) -> list[Substitution] | None:
        """What the command is run by, a debugger for instance, where it was given."""
        return self._prefix

    def prepare(self, context: LaunchContext, action: Action | None = None) -> None:
        """Perform the substitutions; the name gets a number that no other process of the launch has."""
        cmd = [perform_substitutions(context, part) for part in self.cmd]
        name = os.path.basename(cmd[0]) if self.name is None else perform_substitutions(context, self.name)
        self.final_name = f"{name.split(' ')[0] if self.name is None else name}-{next(_counter)}"
        self.final_cmd = [*self._prefix_for(context, name), *cmd]
        self.final_cwd = None if self.cwd is None else perform_substitutions(context, self.cwd)
        base = dict(os.environ) if self.env is None else perform_mapping(context, self.env)
        self.final_env = {**base, **perform_mapping(context, self.additional_env or {})}

    def _prefix_for(self, context: LaunchContext, name: str) -> list[str]:
        if self._prefix is not None:
            return shlex.split(perform_substitutions(context, self._prefix))
        wanted = context.launch_configurations.get("launch-prefix-filter")
        if wanted is not None and re.match(wanted, name) is None:
            return []
        return shlex.split(context.launch_configurations.get("launch-prefix", ""))


__all__ = ["Executable"]

offer_places(__name__)
