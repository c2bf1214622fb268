"""Packages, their executables, and parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...ament_index_python import PackageNotFoundError, get_package_prefix, get_package_share_directory
from ...executables import get_executable_path
from ...launch.description import SomeSubstitutionsType, Substitution
from ...launch.frontend.parser import SubstitutionOfWords, Words, expose_substitution
from ...launch.substitutions import PathJoinSubstitution, SubstitutionFailure
from ...launch.utilities import (
    describe_substitutions,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)
from ...places import offer_places

if TYPE_CHECKING:
    from ...launch.description import LaunchContext


# An executable of a package.


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


# Where a package is.


class FindPackage(SubstitutionOfWords):
    """Base of both; `substitution / "more"` is a path below.

    Raises SubstitutionFailure for an unknown package.
    """

    _ros_words = Words("find-pkg-…", ("package",))

    def __init__(self, package: SomeSubstitutionsType) -> None:
        self.package = normalize_to_list_of_substitutions(package)

    def __truediv__(self, other: SomeSubstitutionsType) -> PathJoinSubstitution:
        return PathJoinSubstitution([self, other])

    def find(self, package_name: str) -> str:
        """The folder of a package."""
        raise NotImplementedError(
            f"use FindPackageShare or FindPackagePrefix instead of {type(self).__name__}"
        )

    def describe(self) -> str:
        return f"{type(self).__name__}(pkg={describe_substitutions(self.package)})"

    def perform(self, context: LaunchContext) -> str:
        try:
            return self.find(perform_substitutions(context, self.package))
        except PackageNotFoundError as error:
            raise SubstitutionFailure(str(error)) from error


@expose_substitution("find-pkg-prefix")
class FindPackagePrefix(FindPackage):
    """The prefix a package is installed in."""

    def find(self, package_name: str) -> str:
        return get_package_prefix(package_name)


@expose_substitution("find-pkg-share")
class FindPackageShare(FindPackage):
    """The share directory of a package."""

    def find(self, package_name: str) -> str:
        return get_package_share_directory(package_name)


# Parameters set in the launch file.


@expose_substitution("param")
class Parameter(SubstitutionOfWords):
    """The value that SetParameter gave a parameter. Raises SubstitutionFailure where it gave none."""

    _ros_words = Words("param", ("name", "default"), optional=1)

    def __init__(self, name: SomeSubstitutionsType, *, default: SomeSubstitutionsType | None = None) -> None:
        self._name = normalize_to_list_of_substitutions(name)
        self._default = None if default is None else normalize_to_list_of_substitutions(default)

    @property
    def name(self) -> list[Substitution]:
        """The name, as substitutions."""
        return self._name

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self._name)
        found: Any = None
        configurations: dict[str, Any] = dict(context.launch_configurations)
        for item in configurations.get("global_params", ()):
            if isinstance(item, tuple) and item[0] == name:
                found = item[1]
        if found is not None:
            return str(found)
        if self._default is not None:
            return perform_substitutions(context, self._default)
        raise SubstitutionFailure(f"parameter '{name}' was not set by SetParameter and has no default")


__all__ = ["ExecutableInPackage", "FindPackage", "FindPackagePrefix", "FindPackageShare", "Parameter"]

offer_places(__name__)
