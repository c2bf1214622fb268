"""Parameters that are known only when the launch runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..launch.some_substitutions_type import SomeSubstitutionsType
from ..launch.substitution import Substitution
from ..launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..launch.utilities.type_utils import perform_bool
from .utilities.parameter_values import ParameterValue
from .utilities.substitute_text import substitute_text

if TYPE_CHECKING:
    from ..launch.launch_context import LaunchContext

__all__ = ["Parameter", "ParameterFile", "ParameterValue"]


class Parameter:
    """One parameter with its name."""

    def __init__(
        self,
        name: SomeSubstitutionsType,
        value: Any,
        *,
        value_type: Any = None,
        description: SomeSubstitutionsType | None = None,
    ) -> None:
        self._name = normalize_to_list_of_substitutions(name)
        self._value = (
            value if isinstance(value, ParameterValue) else ParameterValue(value, value_type=value_type)
        )
        self._evaluated_name: str | None = None
        self._description = None if description is None else normalize_to_list_of_substitutions(description)

    @property
    def name(self) -> list[Substitution] | str:
        """The name, before `evaluate` as substitutions."""
        return self._name if self._evaluated_name is None else self._evaluated_name

    @property
    def value(self) -> Any:
        """The value, before `evaluate` as given or as substitutions."""
        return self._value.value

    @property
    def value_type(self) -> Any:
        """The type asked for, or None."""
        return self._value.value_type

    @property
    def description(self) -> list[Substitution] | None:
        """What it is for, as substitutions."""
        return self._description

    def evaluate(self, context: LaunchContext) -> tuple[str, Any]:
        """Name and value."""
        self._evaluated_name = perform_substitutions(context, self._name)
        return self._evaluated_name, self._value.evaluate(context)


class ParameterFile:
    """A parameter file; with `allow_substs` texts such as `$(var name)` in it are replaced, in a copy."""

    def __init__(
        self,
        param_file: SomeSubstitutionsType | os.PathLike[str],
        *,
        allow_substs: bool | SomeSubstitutionsType = False,
    ) -> None:
        path = str(param_file) if isinstance(param_file, Path) else param_file
        self._param_file = normalize_to_list_of_substitutions(path)  # type: ignore[arg-type]
        self._allow_substs = allow_substs
        self._path: Path | None = None
        self._copy: Path | None = None

    @property
    def param_file(self) -> list[Substitution] | Path:
        """The path, before `evaluate` as substitutions."""
        return self._param_file if self._path is None else self._path

    @property
    def allow_substs(self) -> Any:
        """Whether texts in it are replaced, or substitutions that say so."""
        return self._allow_substs

    def evaluate(self, context: LaunchContext) -> Path:
        """The path of the file, or of its copy. Raises ValueError when the copy is not YAML."""
        path = Path(perform_substitutions(context, self._param_file))
        allowed = perform_bool(context, self._allow_substs)
        self._path = path
        if not allowed:
            return path
        text = substitute_text(context, path.read_text())
        try:
            yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"the substituted parameter file {path} is not valid YAML: {error}") from error
        with tempfile.NamedTemporaryFile("w", prefix="launch_params_", suffix=".yaml", delete=False) as copy:
            copy.write(text)
        self._path = self._copy = Path(copy.name)
        return self._copy

    def cleanup(self) -> None:
        """Remove the copy."""
        if self._copy is not None:
            self._copy.unlink(missing_ok=True)
            self._copy = self._path = None
