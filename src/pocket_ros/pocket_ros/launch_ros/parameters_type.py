"""What may be given as parameters, as it is given, kept and evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ..launch.some_substitutions_type import SomeSubstitutionsType, SomeSubstitutionsType_types_tuple
from ..launch.substitution import Substitution
from .parameter_descriptions import Parameter, ParameterFile
from .parameter_descriptions import ParameterValue as _Typed

_Scalar = str | int | float | bool

SomeParameterFile = SomeSubstitutionsType | PathLike[str] | ParameterFile
SomeParameterName = Sequence[Substitution | str]
SomeParameterValue = (
    _Typed | SomeSubstitutionsType | Sequence[SomeSubstitutionsType] | _Scalar | Sequence[_Scalar] | bytes
)
SomeParameterValue_types_tuple = (*SomeSubstitutionsType_types_tuple, str, int, float, bool, bytes)
SomeParametersDict = Mapping[SomeParameterName, Any]
SomeParameters = Sequence[
    ParameterFile | Parameter | PathLike[str] | SomeSubstitutionsType | Mapping[SomeSubstitutionsType, Any]
]

ParameterName = Sequence[Substitution]
ParameterValue = (
    Sequence[Substitution] | Sequence[Sequence[Substitution]] | _Scalar | Sequence[_Scalar] | bytes | _Typed
)
ParametersDict = dict[ParameterName, ParameterValue]
Parameters = Sequence[ParameterFile | ParametersDict | Parameter]

EvaluatedParameterValue = _Scalar | Sequence[_Scalar] | bytes
EvaluatedParameters = Sequence[Path | Parameter | dict[str, EvaluatedParameterValue]]
