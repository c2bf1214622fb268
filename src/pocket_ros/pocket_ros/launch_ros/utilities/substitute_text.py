"""Substitutions written inside text: `$(var name)`, `$(env NAME default)`, `$(find-pkg-share
package)` and others.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...launch import substitutions as subs

if TYPE_CHECKING:
    from ...launch.launch_context import LaunchContext
    from ...launch.substitution import Substitution

_INNERMOST = re.compile(r"\$\(([a-z][\w-]*)((?:[^()$]|\$(?!\())*)\)")


def _package_share(name: str) -> Substitution:
    from ..substitutions import FindPackageShare

    return FindPackageShare(name)


def _package_prefix(name: str) -> Substitution:
    from ..substitutions import FindPackagePrefix

    return FindPackagePrefix(name)


def _executable(name: str, package: str) -> Substitution:
    from ..substitutions import ExecutableInPackage

    return ExecutableInPackage(name, package)


def _parameter(name: str) -> Substitution:
    from ..substitutions import Parameter

    return Parameter(name)


_KNOWN: dict[str, Callable[..., Substitution]] = {
    "var": lambda name, default=None: subs.LaunchConfiguration(name, default=default),
    "env": lambda name, default=None: subs.EnvironmentVariable(name, default_value=default),
    "anon": lambda name: subs.AnonName(name),
    "command": lambda command, on_stderr="fail": subs.Command(command, on_stderr=on_stderr),
    "dirname": lambda: subs.ThisLaunchFileDir(),
    "filename": lambda: subs.ThisLaunchFile(),
    "eval": lambda *words: subs.PythonExpression(" ".join(words)),
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
    """The text with every `$(…)` replaced, innermost first.

    Raises ValueError for a substitution that does not exist or gets the wrong number of words.
    """

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in _KNOWN:
            raise ValueError(f"unknown substitution '$({name} …)'; there are: {', '.join(sorted(_KNOWN))}")
        try:
            return _KNOWN[name](*shlex.split(match.group(2))).perform(context)
        except TypeError as error:
            raise ValueError(f"'{match.group(0)}' has the wrong number of words: {error}") from error

    while True:
        text, count = _INNERMOST.subn(replace, text)
        if count == 0:
            return text
