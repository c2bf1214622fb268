"""Names that the launch makes up or keeps."""

from __future__ import annotations

import os
import random
import socket
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


@expose_substitution("anon")
class AnonName(SubstitutionOfWords):
    """A name nobody else has: the same one each time the same text is asked for in a launch."""

    _ros_words = Words("anon", ("name",))

    def __init__(self, name: SomeSubstitutionsType) -> None:
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The text that the name begins with, as substitutions."""
        return self._name

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._name)
        key = f"anon{name}"
        if key not in context.launch_configurations:
            context.launch_configurations[key] = self.compute_name(name)
        return str(context.launch_configurations[key])

    def compute_name(self, name: str) -> str:
        """A new name that begins with a text."""
        host = socket.gethostname().replace(".", "_").replace("-", "_").replace(":", "_")
        return f"{name}_{host}_{os.getpid()}_{random.randrange(2**63)}"


class LocalSubstitution(Substitution):
    """A local of the launch context, `event.reason` for instance.

    Raises SubstitutionFailure when there is none.
    """

    def __init__(self, expression: str, description: str | None = None) -> None:
        self._expression = expression
        self._description = description

    @property
    def expression(self) -> str:
        """Which local, with its attributes."""
        return self._expression

    @property
    def description(self) -> str | None:
        """What it is, for a person."""
        return self._description

    def describe(self) -> str:
        return self._description or f"LocalSubstitution('{self._expression}')"

    def perform(self, context: LaunchContext) -> str:
        first, *rest = self._expression.split(".")
        names = context.get_locals_as_dict()
        if first not in names:
            raise SubstitutionFailure(f"the launch context has no local '{first}'")
        value = names[first]
        for name in rest:
            if not hasattr(value, name):
                raise SubstitutionFailure(f"'{name}' of local '{self._expression}' does not exist")
            value = getattr(value, name)
        return str(value)
