"""What may be given as parameters: files and mappings of names to values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from ..launch.some_substitutions_type import SomeSubstitutionsType
from .parameter_descriptions import Parameter, ParameterFile

SomeParameters = Sequence[
    ParameterFile | Parameter | PathLike[str] | SomeSubstitutionsType | Mapping[SomeSubstitutionsType, Any]
]
