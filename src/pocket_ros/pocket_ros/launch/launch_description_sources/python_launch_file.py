"""Launch files written in Python."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

from ..launch_description import LaunchDescription


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
