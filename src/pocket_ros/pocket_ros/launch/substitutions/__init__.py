"""Substitutions: one file a family."""

from ...module_places import offer_class_modules
from .command import Command
from .environment_variable import EnvironmentVariable
from .files import (
    FileContent,
    FindExecutable,
    LaunchLogDir,
    PathJoinSubstitution,
    ThisLaunchFile,
    ThisLaunchFileDir,
)
from .launch_configuration import LaunchConfiguration
from .logic import (
    AllSubstitution,
    AndSubstitution,
    AnySubstitution,
    EqualsSubstitution,
    IfElseSubstitution,
    NotEqualsSubstitution,
    NotSubstitution,
    OrSubstitution,
)
from .names import AnonName, LocalSubstitution
from .python_expression import PythonExpression
from .string_join import StringJoinSubstitution
from .substitution_failure import SubstitutionFailure
from .text_substitution import TextSubstitution

PathSubstitution = PathJoinSubstitution
"""A path that `/` extends."""

__all__ = [
    "AllSubstitution",
    "AndSubstitution",
    "AnonName",
    "AnySubstitution",
    "Command",
    "EnvironmentVariable",
    "EqualsSubstitution",
    "FileContent",
    "FindExecutable",
    "IfElseSubstitution",
    "LaunchConfiguration",
    "LaunchLogDir",
    "LocalSubstitution",
    "NotEqualsSubstitution",
    "NotSubstitution",
    "OrSubstitution",
    "PathJoinSubstitution",
    "PathSubstitution",
    "PythonExpression",
    "StringJoinSubstitution",
    "SubstitutionFailure",
    "TextSubstitution",
    "ThisLaunchFile",
    "ThisLaunchFileDir",
]

offer_class_modules(
    __name__,
    boolean_substitution=[
        AllSubstitution,
        AndSubstitution,
        AnySubstitution,
        NotSubstitution,
        OrSubstitution,
    ],
)
