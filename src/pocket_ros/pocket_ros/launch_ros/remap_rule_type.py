"""Types of remappings, as they are given and as they are kept."""

from __future__ import annotations

from collections.abc import Iterable

from ..launch.some_substitutions_type import SomeSubstitutionsType
from ..launch.substitution import Substitution

SomeRemapRule = tuple[SomeSubstitutionsType, SomeSubstitutionsType]
SomeRemapRules = Iterable[SomeRemapRule]
RemapRule = tuple[tuple[Substitution, ...], tuple[Substitution, ...]]
RemapRules = Iterable[RemapRule]
