"""Where a package is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ament_index_python import PackageNotFoundError, get_package_prefix, get_package_share_directory
from ...launch.frontend.expose import expose_substitution
from ...launch.frontend.substitution_of_words import SubstitutionOfWords, Words
from ...launch.some_substitutions_type import SomeSubstitutionsType
from ...launch.substitution import Substitution
from ...launch.substitutions import PathJoinSubstitution, SubstitutionFailure
from ...launch.utilities import normalize_to_list_of_substitutions, perform_substitutions
from ...launch.utilities.substitutions import describe_substitutions

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext


class FindPackage(SubstitutionOfWords):
    """Base of both; `substitution / "more"` is a path below.

    Raises SubstitutionFailure for an unknown package.
    """

    _ros_words = Words("find-pkg-…", ("package",))

    def __init__(self, package: SomeSubstitutionsType) -> None:
        self._package = normalize_to_list_of_substitutions(package)

    @property
    def package(self) -> list[Substitution]:
        """The package's name, as substitutions."""
        return self._package

    def __truediv__(self, other: SomeSubstitutionsType) -> PathJoinSubstitution:
        return PathJoinSubstitution([self, other])

    def find(self, package_name: str) -> str:
        """The folder of a package."""
        raise NotImplementedError(
            f"use FindPackageShare or FindPackagePrefix instead of {type(self).__name__}"
        )

    def describe(self) -> str:
        return f"{type(self).__name__}(pkg={describe_substitutions(self._package)})"

    def perform(self, context: LaunchContext) -> str:
        try:
            return self.find(perform_substitutions(context, self._package))
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
