"""Parameters that are known only when the launch runs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..launch.some_substitutions_type import SomeSubstitutionsType
from ..launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
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

    def evaluate(self, context: LaunchContext) -> tuple[str, Any]:
        """Name and value."""
        return perform_substitutions(context, self._name), self._value.evaluate(context)


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
        self._copy: Path | None = None

    def evaluate(self, context: LaunchContext) -> Path:
        """The path of the file, or of its copy. Raises ValueError when the copy is not YAML."""
        from ..launch.utilities.type_utils import coerce_to_type

        path = Path(perform_substitutions(context, self._param_file))
        allowed = self._allow_substs
        if not isinstance(allowed, bool):
            text = perform_substitutions(context, normalize_to_list_of_substitutions(allowed))
            allowed = bool(coerce_to_type(text, bool))
        if not allowed:
            return path
        text = substitute_text(context, path.read_text())
        try:
            yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"the substituted parameter file {path} is not valid YAML: {error}") from error
        with tempfile.NamedTemporaryFile("w", prefix="launch_params_", suffix=".yaml", delete=False) as copy:
            copy.write(text)
        self._copy = Path(copy.name)
        return self._copy

    def cleanup(self) -> None:
        """Remove the copy."""
        if self._copy is not None:
            self._copy.unlink(missing_ok=True)
            self._copy = None
