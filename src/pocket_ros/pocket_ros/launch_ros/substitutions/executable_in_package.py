"""An executable of a package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...ament_index_python import PackageNotFoundError
from ...executables import get_executable_path
from ...launch.frontend.expose import expose_substitution, take_words
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.substitution import ParsedSubstitution, Substitution
from ...launch.substitutions import SubstitutionFailure
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


@expose_substitution("exec-in-pkg")
class ExecutableInPackage(Substitution):
    """The path of an executable. Raises SubstitutionFailure when package or executable is unknown."""

    def __init__(self, executable: SomeSubstitutionsType, package: SomeSubstitutionsType) -> None:
        self._executable = normalize_to_list_of_substitutions(executable)
        self._package = normalize_to_list_of_substitutions(package)

    @classmethod
    def parse(cls, data: Sequence[SomeSubstitutionsType]) -> ParsedSubstitution:
        """From the words of `$(exec-in-pkg …)`."""
        return cls, take_words(data, "exec-in-pkg", "executable", "package")

    @property
    def executable(self) -> list[Substitution]:
        """The executable, as substitutions."""
        return self._executable

    @property
    def package(self) -> list[Substitution]:
        """The package, as substitutions."""
        return self._package

    def describe(self) -> str:
        executable = " + ".join(part.describe() for part in self._executable)
        return f"ExecInPkg(pkg={' + '.join(part.describe() for part in self._package)}, exec={executable})"

    def perform(self, context: LaunchContext) -> str:
        executable = perform_substitutions(context, self._executable)
        package = perform_substitutions(context, self._package)
        try:
            path = get_executable_path(package_name=package, executable_name=executable)
        except PackageNotFoundError as error:
            raise SubstitutionFailure(str(error)) from error
        if path is None:
            raise SubstitutionFailure(f"executable '{executable}' not found in package '{package}'")
        return path
