"""Substitutions whose words are arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import ParsedSubstitution, Substitution
from ..utilities.substitutions import describe_substitutions
from .expose import take_words


class Words(NamedTuple):
    """The words of `$(name …)`: the arguments that they are, of which the last may be missing."""

    name: str
    arguments: tuple[str, ...] = ()
    optional: int = 0
    described: str = ""
    """How a description calls the substitution, where it tells the first argument too."""


class SubstitutionOfWords(Substitution):
    """Base of the substitutions that take a fixed number of words: a class says which."""

    _ros_words: ClassVar[Words]

    @classmethod
    def parse(cls, data: Sequence[SomeSubstitutionsType]) -> ParsedSubstitution:
        """From the words behind the name. Raises WordCountError."""
        words = cls._ros_words
        return cls, take_words(data, words.name, *words.arguments, optional=words.optional)

    def describe(self) -> str:
        words = self._ros_words
        if not words.described:
            return super().describe()
        return f"{words.described}({describe_substitutions(getattr(self, words.arguments[0]))})"
