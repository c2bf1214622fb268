"""Sequences of text and substitutions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution

if TYPE_CHECKING:
    from ..launch_context import LaunchContext


def normalize_to_list_of_substitutions(subs: SomeSubstitutionsType) -> list[Substitution]:
    """Text, a substitution or a sequence of both, as a list of substitutions.

    Raises TypeError for anything else.
    """
    from ..substitutions.text_substitution import TextSubstitution

    def one(part: object) -> Substitution:
        if isinstance(part, Substitution):
            return part
        if isinstance(part, str | Path):
            return TextSubstitution(text=str(part))
        raise TypeError(
            f"expected text or a launch substitution, got {part!r} of type {type(part).__name__}; "
            "write it as text, for instance str(value)"
        )

    if isinstance(subs, str | Path | Substitution):
        return [one(subs)]
    if isinstance(subs, Iterable):
        return [one(part) for part in subs]
    return [one(subs)]


def perform_substitutions(context: LaunchContext, subs: Iterable[Substitution]) -> str:
    """The texts of the substitutions, joined."""
    return "".join(sub.perform(context) for sub in subs)


def describe_substitutions(subs: Iterable[Substitution]) -> str:
    """The substitutions as a person would write them."""
    return " + ".join(sub.describe() for sub in subs)


def perform_mapping(
    context: LaunchContext, mapping: Mapping[SomeSubstitutionsType, SomeSubstitutionsType]
) -> dict[str, str]:
    """Names and values, both with their substitutions performed."""

    def text(value: SomeSubstitutionsType) -> str:
        return perform_substitutions(context, normalize_to_list_of_substitutions(value))

    return {text(name): text(value) for name, value in mapping.items()}
