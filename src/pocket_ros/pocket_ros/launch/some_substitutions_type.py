"""What may stand where text is expected: text, a substitution, or a sequence of both."""

from collections.abc import Iterable

from .substitution import Substitution

SomeSubstitutionsType = str | Substitution | Iterable[str | Substitution]
SomeSubstitutionsType_types_tuple = (str, Substitution, Iterable)
