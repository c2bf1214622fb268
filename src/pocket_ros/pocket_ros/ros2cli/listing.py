"""What the `list`, `find` and `type` verbs of topics, services and actions print."""

from __future__ import annotations

from .node import is_hidden

NamesAndTypes = list[tuple[str, list[str]]]


def visible(found: NamesAndTypes, include_hidden: bool) -> NamesAndTypes:
    """In order, without the hidden ones unless they are wanted."""
    return [(name, types) for name, types in sorted(found) if include_hidden or not is_hidden(name)]


def print_names(found: NamesAndTypes, *, only_count: bool, show_types: bool) -> None:
    """A name a line, with its types where wanted, or how many there are."""
    if only_count:
        print(len(found))
        return
    for name, types in found:
        print(f"{name} [{', '.join(types)}]" if show_types else name)


def print_names_of_type(found: NamesAndTypes, wanted: str, *, only_count: bool) -> None:
    """The names of one type, a name a line, or how many there are."""
    print_names([item for item in found if wanted in item[1]], only_count=only_count, show_types=False)


def print_types(types: list[str] | None) -> int:
    """A type a line; the exit code, 1 where there is none."""
    for name in types or []:
        print(name)
    return 0 if types else 1
