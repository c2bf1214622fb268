"""Substitutions written inside text: `$(var name)`, `$(env NAME default)`, `$(find-pkg-share
package)` and others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...launch import substitutions as subs
from ...launch.substitution import Substitution
from ...launch.utilities.embedded import Call, Part, parse_embedded

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext

Word = list[Substitution]


def _package_share(name: Word) -> Substitution:
    from ..substitutions import FindPackageShare

    return FindPackageShare(name)


def _package_prefix(name: Word) -> Substitution:
    from ..substitutions import FindPackagePrefix

    return FindPackagePrefix(name)


def _executable(name: Word, package: Word) -> Substitution:
    from ..substitutions import ExecutableInPackage

    return ExecutableInPackage(name, package)


def _parameter(name: Word) -> Substitution:
    from ..substitutions import Parameter

    return Parameter(name)


_KNOWN: dict[str, Callable[..., Substitution]] = {
    "var": lambda name, default=None: subs.LaunchConfiguration(name, default=default),
    "env": lambda name, default=None: subs.EnvironmentVariable(name, default_value=default),
    "anon": lambda name: subs.AnonName(name),
    "command": lambda command, on_stderr="fail": subs.Command(command, on_stderr=on_stderr),
    "dirname": lambda: subs.ThisLaunchFileDir(),
    "filename": lambda: subs.ThisLaunchFile(),
    "eval": lambda expression, modules=("math",): subs.PythonExpression(
        expression, [modules] if isinstance(modules, list) else modules
    ),
    "find-exec": lambda name: subs.FindExecutable(name=name),
    "find-pkg-share": _package_share,
    "find-pkg-prefix": _package_prefix,
    "exec-in-pkg": _executable,
    "file-content": lambda path: subs.FileContent(path),
    "launch_log_dir": lambda: subs.LaunchLogDir(),
    "log_dir": lambda: subs.LaunchLogDir(),
    "param": _parameter,
    "if": lambda condition, *values: subs.IfElseSubstitution(condition, *values),
    "equals": lambda left, right: subs.EqualsSubstitution(left, right),
    "not-equals": lambda left, right: subs.NotEqualsSubstitution(left, right),
    "all": lambda *values: subs.AllSubstitution(*values),
    "any": lambda *values: subs.AnySubstitution(*values),
    "not": lambda value: subs.NotSubstitution(value),
    "and": lambda left, right: subs.AndSubstitution(left, right),
    "or": lambda left, right: subs.OrSubstitution(left, right),
}


def substitute_text(context: LaunchContext, text: str) -> str:
    """The text with every `$(…)` replaced; what they give is not looked at again.

    Raises ValueError for a substitution that does not exist, is badly written or has too few or many words.
    """
    return "".join(part.perform(context) for part in _substitutions(parse_embedded(text)))


def _substitutions(parts: tuple[Part, ...]) -> list[Substitution]:
    return [subs.TextSubstitution(text=part) if isinstance(part, str) else _made(part) for part in parts]


def _made(call: Call) -> Substitution:
    if call.name not in _KNOWN:
        raise ValueError(f"unknown substitution '$({call.name} …)'; there are: {', '.join(sorted(_KNOWN))}")
    words = [_substitutions(word) for word in call.words]
    try:
        return _KNOWN[call.name](*words)
    except TypeError as error:
        raise ValueError(f"'{call.source}' has the wrong number of words: {error}") from error
