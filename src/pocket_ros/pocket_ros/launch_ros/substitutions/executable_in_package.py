"""An executable of a package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ament_index_python import PackageNotFoundError
from ...executables import get_executable_path
from ...launch.frontend.expose import expose_substitution
from ...launch.frontend.substitution_of_words import SubstitutionOfWords, Words
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.substitution import Substitution
from ...launch.substitutions import SubstitutionFailure
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ...launch.utilities.substitutions import describe_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


@expose_substitution("exec-in-pkg")
class ExecutableInPackage(SubstitutionOfWords):
    """The path of an executable. Raises SubstitutionFailure when package or executable is unknown."""

    _ros_words = Words("exec-in-pkg", ("executable", "package"))

    def __init__(self, executable: SomeSubstitutionsType, package: SomeSubstitutionsType) -> None:
        self._executable = normalize_to_list_of_substitutions(executable)
        self._package = normalize_to_list_of_substitutions(package)

    @property
    def executable(self) -> list[Substitution]:
        """The executable, as substitutions."""
        return self._executable

    @property
    def package(self) -> list[Substitution]:
        """The package, as substitutions."""
        return self._package

    def describe(self) -> str:
        executable = describe_substitutions(self._executable)
        return f"ExecInPkg(pkg={describe_substitutions(self._package)}, exec={executable})"

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
