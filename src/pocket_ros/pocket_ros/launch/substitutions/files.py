"""Files, folders and executables."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from ..frontend.expose import expose_substitution
from ..frontend.substitution_of_words import SubstitutionOfWords, Words
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution
from ..utilities import normalize_to_list_of_substitutions, perform_substitutions
from ..utilities.substitutions import describe_substitutions
from .substitution_failure import SubstitutionFailure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..launch_context import LaunchContext


class PathJoinSubstitution(Substitution):
    """Parts joined with `/`; each part may itself be a sequence, which is concatenated.

    `substitution / "more"` extends it.
    """

    def __init__(self, substitutions: Iterable[SomeSubstitutionsType] | SomeSubstitutionsType) -> None:
        parts = [substitutions] if isinstance(substitutions, str | Substitution) else substitutions
        self._parts = [normalize_to_list_of_substitutions(part) for part in parts]

    @property
    def substitutions(self) -> list[list[Substitution]]:
        """The parts."""
        return self._parts

    def __truediv__(self, other: SomeSubstitutionsType) -> PathJoinSubstitution:
        return PathJoinSubstitution([*self._parts, other])

    def describe(self) -> str:
        return "PathJoin(" + ", ".join(describe_substitutions(part) for part in self._parts) + ")"

    def perform(self, context: LaunchContext) -> str:
        return os.path.join(*(perform_substitutions(context, part) for part in self._parts))


@expose_substitution("file-content")
class FileContent(SubstitutionOfWords):
    """The text of a file. Raises SubstitutionFailure when it cannot be read."""

    _ros_words = Words("file-content", ("path",), described="FileContent")

    def __init__(self, path: SomeSubstitutionsType) -> None:
        self._path = normalize_to_list_of_substitutions(path)

    @property
    def path(self) -> list[Substitution]:
        """The path, as substitutions."""
        return self._path

    def perform(self, context: LaunchContext) -> str:
        path = perform_substitutions(context, self._path)
        try:
            with open(path) as stream:
                return stream.read()
        except OSError as error:
            raise SubstitutionFailure(f"Failed to open file '{path}': {error.strerror}") from error


@expose_substitution("find-exec")
class FindExecutable(SubstitutionOfWords):
    """The full path of an executable on `PATH`. Raises SubstitutionFailure when there is none."""

    _ros_words = Words("find-exec", ("name",), described="FindExec")

    def __init__(self, *, name: SomeSubstitutionsType) -> None:
        self._name = normalize_to_list_of_substitutions(name)

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._name)
        path = shutil.which(name)
        if path is None:
            raise SubstitutionFailure(f"executable '{name}' not found on the PATH")
        return path


@expose_substitution("launch_log_dir")
@expose_substitution("log_dir")
class LaunchLogDir(SubstitutionOfWords):
    """The folder of this launch's log files."""

    _ros_words = Words("launch_log_dir")

    def perform(self, context: LaunchContext) -> str:
        from ..logging import launch_config

        return launch_config.log_dir


class _OfThisFile(SubstitutionOfWords):
    local = ""

    def perform(self, context: LaunchContext) -> str:
        value = context.get_locals_as_dict().get(self.local)
        if value is None:
            raise SubstitutionFailure(f"{type(self).__name__} used outside of a launch file (in a script)")
        return str(value)


@expose_substitution("filename")
class ThisLaunchFile(_OfThisFile):
    """The path of the launch file it stands in. Raises SubstitutionFailure outside of one."""

    _ros_words = Words("filename")
    local = "current_launch_file_path"


@expose_substitution("dirname")
class ThisLaunchFileDir(_OfThisFile):
    """The folder of the launch file it stands in. Raises SubstitutionFailure outside of one."""

    _ros_words = Words("dirname")
    local = "current_launch_file_directory"
