"""Launch files as sources of descriptions."""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import yaml

from ...places import offer_class_modules
from ..description import InvalidLaunchFileError, LaunchDescription, SomeSubstitutionsType
from ..frontend.parser import InvalidFrontendLaunchFileError, Parser
from ..utilities import describe_substitutions, normalize_to_list_of_substitutions, perform_substitutions

if TYPE_CHECKING:
    from ..description import LaunchContext


# Where a launch description comes from.


class LaunchDescriptionSource:
    """A description, now or when the launch gets there; `location` is its file."""

    def __init__(
        self,
        launch_description: LaunchDescription | None = None,
        location: SomeSubstitutionsType = "",
        method: str = "unspecified mechanism from a script",
    ) -> None:
        self._launch_description = launch_description
        self._location = normalize_to_list_of_substitutions(location)
        self._expanded: str | None = None
        self.method = method

    @property
    def location(self) -> str:
        """The file, or how it would be found before it has been loaded."""
        if self._expanded is not None:
            return self._expanded
        return describe_substitutions(self._location)

    def try_get_launch_description_without_context(self) -> LaunchDescription | None:
        """The description where its location needs no launch to be known, else None."""
        if self._launch_description is None:
            from ..description import LaunchContext
            from ..substitutions import TextSubstitution

            if all(isinstance(part, TextSubstitution) for part in self._location):
                return self.get_launch_description(LaunchContext())
        return self._launch_description

    def get_launch_description(self, context: LaunchContext) -> LaunchDescription:
        """The description, loaded once. Raises FileNotFoundError and InvalidLaunchFileError."""
        if self._expanded is None:
            self._expanded = os.path.abspath(perform_substitutions(context, self._location))
        if self._launch_description is None:
            self._launch_description = self._get_launch_description(self._expanded)
        return self._launch_description

    def _get_launch_description(self, location: str) -> LaunchDescription:
        raise NotImplementedError(
            f"{type(self).__name__} cannot load {location}: it was given no description"
        )


# Launch files written in Python.


class InvalidPythonLaunchFileError(Exception):
    """A Python launch file without a usable `generate_launch_description()`."""


def load_python_launch_file_as_module(python_launch_file_path: str) -> ModuleType:
    """The file as a module of its own. Raises FileNotFoundError, and whatever the file raises."""
    loader = SourceFileLoader("python_launch_file", python_launch_file_path)
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def get_launch_description_from_python_launch_file(python_launch_file_path: str) -> LaunchDescription:
    """What the file's `generate_launch_description()` returns.

    Raises InvalidPythonLaunchFileError without one.
    """
    module = load_python_launch_file_as_module(python_launch_file_path)
    if not hasattr(module, "generate_launch_description"):
        raise InvalidPythonLaunchFileError(
            f"launch file at '{python_launch_file_path}' does not contain the required function "
            "'generate_launch_description()'"
        )
    description = module.generate_launch_description()
    if not isinstance(description, LaunchDescription):
        raise InvalidPythonLaunchFileError(
            f"generate_launch_description() of '{python_launch_file_path}' must return a LaunchDescription, "
            f"it returned {type(description).__name__}"
        )
    return description


# A Python launch file as a source.


class PythonLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads `generate_launch_description()` of a file."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "interpreted python launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_python_launch_file(location)


# A launch file of any kind as a source.


_MISTAKES = (AttributeError, RuntimeError, TypeError, ValueError, ElementTree.ParseError, yaml.YAMLError)


def get_launch_description_from_frontend_launch_file(
    launch_file_path: str, *, parser: type[Parser] = Parser
) -> LaunchDescription:
    """The description in a file of one of the languages that `launch.frontend` reads.

    Raises FileNotFoundError, and InvalidFrontendLaunchFileError naming the file and what is wrong in it.
    """
    if not os.path.isfile(launch_file_path):
        raise FileNotFoundError(f"launch file '{launch_file_path}' does not exist")
    try:
        root, reader = parser.load(launch_file_path)
        return reader.parse_description(root)
    except NotImplementedError:
        raise
    except InvalidFrontendLaunchFileError as error:
        raise InvalidFrontendLaunchFileError(launch_file_path, likely_errors=error.likely_errors) from error
    except _MISTAKES as error:
        raise InvalidFrontendLaunchFileError(launch_file_path, likely_errors=[error]) from error


def get_launch_description_from_any_launch_file(
    launch_file_path: str, *, parser: type[Parser] = Parser
) -> LaunchDescription:
    """The description in a file, which is Python unless a language of `launch.frontend` has its ending.

    Raises FileNotFoundError, InvalidLaunchFileError and InvalidPythonLaunchFileError.
    """
    if not os.path.isfile(launch_file_path):
        raise FileNotFoundError(f"launch file '{launch_file_path}' does not exist")
    if parser.is_filename_valid(launch_file_path):
        return get_launch_description_from_frontend_launch_file(launch_file_path, parser=parser)
    return get_launch_description_from_python_launch_file(launch_file_path)


class AnyLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file by its extension."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        super().__init__(None, launch_file_path, "any launch file")

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_any_launch_file(location)


class FrontendLaunchDescriptionSource(LaunchDescriptionSource):
    """Loads a launch file in a language of `launch.frontend`: by its extension, or in that of `parser`."""

    def __init__(
        self,
        launch_file_path: SomeSubstitutionsType,
        *,
        method: str = "interpreted frontend launch file",
        parser: type[Parser] = Parser,
    ) -> None:
        super().__init__(None, launch_file_path, method)
        self._parser = parser

    def _get_launch_description(self, location: str) -> LaunchDescription:
        return get_launch_description_from_frontend_launch_file(location, parser=self._parser)


__all__ = [
    "AnyLaunchDescriptionSource",
    "FrontendLaunchDescriptionSource",
    "InvalidFrontendLaunchFileError",
    "InvalidLaunchFileError",
    "InvalidPythonLaunchFileError",
    "PythonLaunchDescriptionSource",
    "get_launch_description_from_any_launch_file",
    "get_launch_description_from_frontend_launch_file",
    "get_launch_description_from_python_launch_file",
    "load_python_launch_file_as_module",
]

offer_class_modules(
    __name__,
    any_launch_file_utilities=[get_launch_description_from_any_launch_file],
    frontend_launch_file_utilities=[
        InvalidFrontendLaunchFileError,
        get_launch_description_from_frontend_launch_file,
    ],
    python_launch_file_utilities=[
        InvalidPythonLaunchFileError,
        get_launch_description_from_python_launch_file,
        load_python_launch_file_as_module,
    ],
)
