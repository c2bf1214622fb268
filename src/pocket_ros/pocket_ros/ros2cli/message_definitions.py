"""Definitions of messages as recordings keep them."""

from __future__ import annotations

from ..interfaces import catalog


def full_definition(type_name: str) -> str:
    """A message's definition followed by those of all it holds, as MCAP keeps them.

    Raises UnknownInterfaceError.
    """
    parts: dict[str, str] = {}

    def collect(name: str) -> None:
        if name in parts:
            return
        found = catalog.message(name)
        parts[name] = catalog.render(found)
        for field in found.fields:
            if not field.type.is_primitive:
                collect(field.type.base)

    collect(type_name)
    first, *rest = parts.items()
    separator = "=" * 80
    nested = [f"\n{separator}\nMSG: {name.replace('/msg/', '/')}\n{text}" for name, text in rest]
    return first[1] + "".join(nested)
