"""Templates of YAML files: texts that become YAML once their variables have values.

`#%> set height = width / 2` is a statement on a line of its own, `<% if width > 3 %>` one within a line, and
`<{ height }>` a value. Only files that a user names are rendered, never what comes in a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fleet_sim.errors import ConfigError, did_you_mean, missing_extra
from fleet_sim.settings.types import shown

_EXPRESSION = re.compile(r"<\{.*?\}>|<%.*?%>")


class Variables:
    """The values of a template's variables, and which of them the files ask for."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self.values = dict(values or {})
        self.known: set[str] = set()
        """What the files ask for, given or not."""

    def check_used(self, source: str) -> None:
        """Raise ConfigError where a value was given that no file asks for."""
        for name in self.values:
            if name not in self.known:
                what = "its templates have no such variable" if self.known else "it is not a template with variables"
                raise ConfigError(f"{name}: {what}.{did_you_mean(name, self.known)}", source=source)

    def inside(self, exported: Mapping[str, Any]) -> Variables:
        """Return these variables for a file that is included, with what its parent has set."""
        # What was given for the run wins over what the parent has set.
        inner = Variables({**exported, **self.values})
        # One set for all files, as a value may be for any of them.
        inner.known = self.known
        return inner


def first_sign(text: str) -> tuple[int, str, str] | None:
    """Return (number, line, what) of the first line of `text` that is part of a template, or None."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#%"):
            return number, line.strip(), "a statement"
        # What is behind a # is a comment: statements were looked for above.
        if _EXPRESSION.search(line.split("#", 1)[0]):
            return number, line.strip(), "an expression"
    return None


def refuse(text: str, source: str) -> None:
    """Refuse a template where plain YAML is read, which takes its lines for comments and texts; raises ConfigError."""
    sign = first_sign(text)
    if sign is not None:
        number, line, what = sign
        raise ConfigError(
            f"line {number}: {shown(line)} is {what} of a Jinja template, and this file is read as plain YAML; write"
            " the value, `!np pi / 4` for arithmetic, or read it as a swarm world, which may be a template:"
            " config_from_yaml(path, width=6), or fleet-sim swarm FILE --set width=6",
            source=source,
        )


def render(text: str, variables: Variables, source: str) -> tuple[str, dict[str, Any]]:
    """Return `text` with its variables filled in, and what it has set; a text that is not a template stays as it is.

    Raises ConfigError with the line for what is not allowed, for an unknown variable and for what would take too long,
    and MissingDependencyError where Jinja2 is needed and not there.
    """
    if first_sign(text) is None:
        return text, {}
    try:
        import jinja2  # noqa: F401  # it is only asked for
    except ImportError as error:
        raise missing_extra("jinja2", "template", f"{source}, a template,") from error
    # Here, as only templates need it.
    from fleet_sim.settings.jinja import WorldTemplate

    template = WorldTemplate(text, source)
    variables.known |= template.names
    return template.render(variables.values)
