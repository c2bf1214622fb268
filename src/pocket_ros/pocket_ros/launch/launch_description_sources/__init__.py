"""Launch files as sources of descriptions."""

from ...module_places import offer_class_modules
from ..frontend.parser import InvalidFrontendLaunchFileError
from ..invalid_launch_file_error import InvalidLaunchFileError
from .any_launch_description_source import (
    AnyLaunchDescriptionSource,
    FrontendLaunchDescriptionSource,
    get_launch_description_from_any_launch_file,
    get_launch_description_from_frontend_launch_file,
)
from .python_launch_description_source import PythonLaunchDescriptionSource
from .python_launch_file import (
    InvalidPythonLaunchFileError,
    get_launch_description_from_python_launch_file,
    load_python_launch_file_as_module,
)

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
