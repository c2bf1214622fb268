"""Substitutions: one file a family."""

from __future__ import annotations

import difflib
import importlib
import os
import random
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...places import offer_class_modules
from ..description import ParsedSubstitution, SomeSubstitutionsType, Substitution, TextSubstitution
from ..frontend.parser import SubstitutionOfWords, Words, expose_substitution
from ..logging import get_logger
from ..utilities import (
    coerce_to_type,
    describe_substitutions,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)

if TYPE_CHECKING:
    from ..description import LaunchContext


# A substitution that has no value.


class SubstitutionFailure(Exception):
    """Says which substitution failed and why."""


# The output of a command.


@expose_substitution("command")
class Command(SubstitutionOfWords):
    """What a command writes to standard output.

    `on_stderr` says what text on standard error means: `fail`, `ignore`, `warn` or `capture` (it is added).
    Raises SubstitutionFailure when the command cannot be started, when it fails, and by `fail`.
    """

    _ros_words = Words("command", ("command", "on_stderr"), optional=1, described="Command")

    def __init__(self, command: SomeSubstitutionsType, *, on_stderr: SomeSubstitutionsType = "fail") -> None:
        self.command = normalize_to_list_of_substitutions(command)
        self.on_stderr = normalize_to_list_of_substitutions(on_stderr)

    def perform(self, context: LaunchContext) -> str:
        command = perform_substitutions(context, self.command)
        on_stderr = perform_substitutions(context, self.on_stderr)
        if on_stderr not in ("fail", "ignore", "warn", "capture"):
            raise SubstitutionFailure(
                f"expected on_stderr to be one of: 'fail', 'ignore', 'warn' or 'capture', got '{on_stderr}'"
            )
        try:
            stderr = subprocess.STDOUT if on_stderr == "capture" else subprocess.PIPE
            done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, stderr=stderr, text=True)
        except OSError as error:
            raise SubstitutionFailure(f"executing '{command}' failed: {error}") from error
        if done.returncode != 0:
            raise SubstitutionFailure(
                f"executed command failed. Command: {command}\nCaptured stderr output: {done.stderr or ''}"
            )
        if done.stderr and on_stderr == "fail":
            raise SubstitutionFailure(
                f"executed command showed stderr output. Command: {command}\n"
                f"Captured stderr output:\n{done.stderr}"
            )
        if done.stderr and on_stderr == "warn":
            get_logger("launch").warning(
                f"executed command showed stderr output. Command: {command}\n{done.stderr}"
            )
        return done.stdout


# Environment variables.


@expose_substitution("env")
class EnvironmentVariable(SubstitutionOfWords):
    """The value of an environment variable.

    Raises SubstitutionFailure when it is not set and there is no default.
    """

    _ros_words = Words("env", ("name", "default_value"), optional=1, described="EnvVar")

    def __init__(
        self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None
    ) -> None:
        self.name = normalize_to_list_of_substitutions(name)
        self._default = None if default_value is None else normalize_to_list_of_substitutions(default_value)

    @property
    def default_value(self) -> list[Substitution] | None:
        """The default, as substitutions."""
        return self._default

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self.name)
        if name in os.environ:
            return os.environ[name]
        if self._default is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self._default)


# Files, folders and executables.


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
        self.path = normalize_to_list_of_substitutions(path)

    def perform(self, context: LaunchContext) -> str:
        path = perform_substitutions(context, self.path)
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
        self.name = normalize_to_list_of_substitutions(name)

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self.name)
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


# Launch configurations and arguments.


@expose_substitution("var")
class LaunchConfiguration(SubstitutionOfWords):
    """The value of a launch configuration, or the default where it is not set.

    Raises SubstitutionFailure when it is not set and there is no default.
    """

    _ros_words = Words("var", ("variable_name", "default"), optional=1, described="LaunchConfig")

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: object = None) -> None:
        self.variable_name = normalize_to_list_of_substitutions(variable_name)
        if default is None:
            self._default: list[Substitution] | None = None
        else:
            parts = default if isinstance(default, str | Substitution | list | tuple) else str(default)
            self._default = normalize_to_list_of_substitutions(
                [p if isinstance(p, str | Substitution) else str(p) for p in parts]
                if isinstance(parts, list | tuple)
                else parts
            )

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self.variable_name)
        if name in context.launch_configurations:
            return str(context.launch_configurations[name])
        if self._default is not None:
            return perform_substitutions(context, self._default)
        near = difflib.get_close_matches(name, context.launch_configurations, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise SubstitutionFailure(f"launch configuration '{name}' does not exist{hint}")


# Truth values from texts: each gives `true` or `false`.


def _truth(context: LaunchContext, value: list[Substitution], who: Substitution) -> bool:
    text = perform_substitutions(context, value)
    try:
        return bool(coerce_to_type(text, bool))
    except ValueError as error:
        raise SubstitutionFailure(f"{type(who).__name__}: {error}") from error


def _text(value: bool) -> str:
    return "true" if value else "false"


@expose_substitution("not")
class NotSubstitution(SubstitutionOfWords):
    """The opposite. Raises SubstitutionFailure for text that is no truth value."""

    _ros_words = Words("not", ("value",))

    def __init__(self, value: SomeSubstitutionsType) -> None:
        self.value = normalize_to_list_of_substitutions(value)

    def perform(self, context: LaunchContext) -> str:
        return _text(not _truth(context, self.value, self))


class _OfMany(Substitution):
    def __init__(self, *values: SomeSubstitutionsType) -> None:
        self._values = [normalize_to_list_of_substitutions(value) for value in values]

    @classmethod
    def parse(cls, data: Sequence[SomeSubstitutionsType]) -> ParsedSubstitution:
        """From any number of words."""
        return partial(cls, *data), {}

    @property
    def args(self) -> list[list[Substitution]]:
        """The texts, as substitutions."""
        return self._values

    def describe(self) -> str:
        parts = (describe_substitutions(value) for value in self._values)
        return f"{type(self).__name__}({', '.join(parts)})"

    def _truths(self, context: LaunchContext) -> list[bool]:
        """All of them, so that what is no truth value is found wherever it stands."""
        return [_truth(context, value, self) for value in self._values]


@expose_substitution("all")
class AllSubstitution(_OfMany):
    """True when all are. Raises SubstitutionFailure for text that is no truth value."""

    def perform(self, context: LaunchContext) -> str:
        return _text(all(self._truths(context)))


@expose_substitution("any")
class AnySubstitution(_OfMany):
    """True when one is. Raises SubstitutionFailure for text that is no truth value."""

    def perform(self, context: LaunchContext) -> str:
        return _text(any(self._truths(context)))


class _OfTwo(SubstitutionOfWords, _OfMany):
    def __init__(self, left: SomeSubstitutionsType, right: SomeSubstitutionsType) -> None:
        super().__init__(left, right)

    @property
    def left(self) -> list[Substitution]:
        """The first, as substitutions."""
        return self._values[0]

    @property
    def right(self) -> list[Substitution]:
        """The second, as substitutions."""
        return self._values[1]


@expose_substitution("and")
class AndSubstitution(_OfTwo, AllSubstitution):
    """True when both are."""

    _ros_words = Words("and", ("left", "right"))


@expose_substitution("or")
class OrSubstitution(_OfTwo, AnySubstitution):
    """True when one of two is."""

    _ros_words = Words("or", ("left", "right"))


@expose_substitution("equals")
class EqualsSubstitution(SubstitutionOfWords):
    """True when both sides are the same text, the same truth value, or nearly the same number.

    None is the empty text.
    """

    _ros_words = Words("equals", ("left", "right"))

    def __init__(
        self,
        left: SomeSubstitutionsType | float | bool | None,
        right: SomeSubstitutionsType | float | bool | None,
    ) -> None:
        self._sides = [self._normalize(left), self._normalize(right)]

    @property
    def left(self) -> list[Substitution]:
        """The first side, as substitutions."""
        return self._sides[0]

    @property
    def right(self) -> list[Substitution]:
        """The second side, as substitutions."""
        return self._sides[1]

    @staticmethod
    def _normalize(value: SomeSubstitutionsType | float | bool | None) -> list[Substitution]:
        if value is None:
            return []
        plain = str(value).lower() if isinstance(value, bool) else value
        return normalize_to_list_of_substitutions(str(plain) if isinstance(plain, int | float) else plain)

    def describe(self) -> str:
        return f"{type(self).__name__}({', '.join(describe_substitutions(s) for s in self._sides)})"

    def _equal(self, context: LaunchContext) -> bool:
        left, right = (perform_substitutions(context, side) for side in self._sides)
        if left == right:
            return True
        if {left.lower(), right.lower()} in ({"true", "1"}, {"false", "0"}):
            return True
        if left.lower() == right.lower() and left.lower() in ("true", "false"):
            return True
        try:
            return abs(float(left) - float(right)) <= 1e-9 * max(abs(float(left)), abs(float(right)))
        except ValueError:
            return False

    def perform(self, context: LaunchContext) -> str:
        return _text(self._equal(context))


@expose_substitution("not-equals")
class NotEqualsSubstitution(EqualsSubstitution):
    """The opposite of EqualsSubstitution."""

    _ros_words = Words("not-equals", ("left", "right"))

    def perform(self, context: LaunchContext) -> str:
        return _text(not self._equal(context))


@expose_substitution("if")
class IfElseSubstitution(SubstitutionOfWords):
    """One value where the condition is true, the other where it is not; one of the two may be left out.

    Raises RuntimeError where both are.
    """

    _ros_words = Words("if", ("condition", "if_value", "else_value"), optional=1)

    def __init__(
        self,
        condition: SomeSubstitutionsType,
        if_value: SomeSubstitutionsType = "",
        else_value: SomeSubstitutionsType = "",
    ) -> None:
        if not if_value and not else_value:
            raise RuntimeError("One of if_value and else_value must be specified")
        self.condition = normalize_to_list_of_substitutions(condition)
        self._if = normalize_to_list_of_substitutions(if_value)
        self._else = normalize_to_list_of_substitutions(else_value)

    @property
    def if_value(self) -> list[Substitution]:
        """The value where it is true."""
        return self._if

    @property
    def else_value(self) -> list[Substitution]:
        """The value where it is false."""
        return self._else

    def perform(self, context: LaunchContext) -> str:
        return perform_substitutions(
            context, self._if if _truth(context, self.condition, self) else self._else
        )


# Names that the launch makes up or keeps.


@expose_substitution("anon")
class AnonName(SubstitutionOfWords):
    """A name nobody else has: the same one each time the same text is asked for in a launch."""

    _ros_words = Words("anon", ("name",))

    def __init__(self, name: SomeSubstitutionsType) -> None:
        self.name = normalize_to_list_of_substitutions(name)

    def perform(self, context: LaunchContext) -> str:
        name = perform_substitutions(context, self.name)
        key = f"anon{name}"
        if key not in context.launch_configurations:
            context.launch_configurations[key] = self.compute_name(name)
        return str(context.launch_configurations[key])

    def compute_name(self, name: str) -> str:
        """A new name that begins with a text."""
        host = socket.gethostname().replace(".", "_").replace("-", "_").replace(":", "_")
        return f"{name}_{host}_{os.getpid()}_{random.randrange(2**63)}"


class LocalSubstitution(Substitution):
    """A local of the launch context, `event.reason` for instance.

    Raises SubstitutionFailure when there is none.
    """

    def __init__(self, expression: str, description: str | None = None) -> None:
        self.expression = expression
        self.description = description

    def describe(self) -> str:
        return self.description or f"LocalSubstitution('{self.expression}')"

    def perform(self, context: LaunchContext) -> str:
        first, *rest = self.expression.split(".")
        names = context.get_locals_as_dict()
        if first not in names:
            raise SubstitutionFailure(f"the launch context has no local '{first}'")
        value = names[first]
        for name in rest:
            if not hasattr(value, name):
                raise SubstitutionFailure(f"'{name}' of local '{self.expression}' does not exist")
            value = getattr(value, name)
        return str(value)


# Python expressions.


@expose_substitution("eval")
class PythonExpression(SubstitutionOfWords):
    """The text of the value of a Python expression.

    The names of `python_modules` (`math` unless given) are known, and those of `math` also without the
    module's name. Raises whatever the expression raises.
    """

    _ros_words = Words("eval", ("expression", "python_modules"), optional=1)

    def __init__(
        self,
        expression: SomeSubstitutionsType,
        python_modules: SomeSubstitutionsType | Sequence[SomeSubstitutionsType] = ("math",),
    ) -> None:
        self.expression = normalize_to_list_of_substitutions(expression)
        modules = [python_modules] if isinstance(python_modules, str | Substitution) else list(python_modules)
        self._modules = [normalize_to_list_of_substitutions(module) for module in modules]

    @classmethod
    def parse(cls, data: Sequence[SomeSubstitutionsType]) -> ParsedSubstitution:
        arguments = super().parse(data)[1]
        if "python_modules" in arguments:
            arguments["python_modules"] = [arguments["python_modules"]]  # one word, with commas in it
        return cls, arguments

    @property
    def python_modules(self) -> list[list[Substitution]]:
        """The modules whose names are known."""
        return self._modules

    def describe(self) -> str:
        expression = describe_substitutions(self.expression)
        modules = ", ".join(part.describe() for parts in self._modules for part in parts)
        return f"PythonExpr({expression}, [{modules}])"

    def perform(self, context: LaunchContext) -> str:
        names: dict[str, object] = {}
        expression = perform_substitutions(context, self.expression)
        listed = ",".join(perform_substitutions(context, parts) for parts in self._modules)
        for name in filter(None, (name.strip() for name in listed.split(","))):
            module = importlib.import_module(name)
            names[module.__name__] = module
            if module.__name__ == "math":
                names.update(vars(module))
        return str(eval(expression, {**names}))


# Texts joined by a delimiter.


class StringJoinSubstitution(Substitution):
    """The parts with the delimiter between them."""

    def __init__(
        self, substitutions: Iterable[SomeSubstitutionsType], delimiter: SomeSubstitutionsType = ""
    ) -> None:
        self._parts = [normalize_to_list_of_substitutions(part) for part in substitutions]
        self._delimiter = normalize_to_list_of_substitutions(delimiter)

    def perform(self, context: LaunchContext) -> str:
        delimiter = perform_substitutions(context, self._delimiter)
        return delimiter.join(perform_substitutions(context, part) for part in self._parts)


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
    boolean_substitution=[AllSubstitution, AndSubstitution, AnySubstitution, NotSubstitution, OrSubstitution],
)
