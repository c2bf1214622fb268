"""Texts joined by a delimiter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


class StringJoinSubstitution(Substitution):
    """The parts with the delimiter between them."""

    def __init__(
        self, substitutions: Iterable[SomeSubstitutionsType], delimiter: SomeSubstitutionsType = ""
    ) -> None:
        self._parts = [normalize_to_list_of_substitutions(part) for part in substitutions]
        self._delimiter = normalize_to_list_of_substitutions(delimiter)

    def perform(self, context: LaunchContext) -> str:
        delimiter = perform_substitutions(context, self._delimiter)
        return delimiter.join(perform_substitutions(context, part) for part in self._parts)
