"""Tags and substitutions by name: how an action or a substitution makes itself known to launch files."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..launch_description_entity import LaunchDescriptionEntity
from ..some_substitutions_type import SomeSubstitutionsType
from ..substitution import Substitution

if TYPE_CHECKING:
    from .entity import Entity

ParseMethod = Callable[..., tuple[Callable[..., Any], dict[str, Any]]]
Exposed = TypeVar("Exposed")

action_parse_methods: dict[str, ParseMethod] = {}
"""By tag; each takes an entity and a parser, and gives a class and the arguments to make it of."""
substitution_parse_methods: dict[str, ParseMethod] = {}
"""By name; each takes the words behind the name."""


class UnknownSubstitutionError(RuntimeError, ValueError):
    """A substitution in a text that nobody has exposed."""


class WordCountError(TypeError, ValueError):
    """A substitution in a text with too few or too many words."""


def instantiate_action(entity: Entity, parser: object) -> LaunchDescriptionEntity:
    """The action a tag stands for. Raises RuntimeError for an unknown tag, and what its parse method does."""
    tag = entity.type_name
    method = action_parse_methods.get(tag) or action_parse_methods.get(tag.replace("-", "_"))
    if method is None:
        near = difflib.get_close_matches(tag, action_parse_methods, n=1)
        listed = ", ".join(sorted(action_parse_methods))
        hint = f"did you mean <{near[0]}>?" if near else f"there are: {listed}"
        raise RuntimeError(f"unknown tag <{tag}>; {hint}")
    kind, arguments = method(entity, parser)
    action: LaunchDescriptionEntity = kind(**arguments)
    return action


def instantiate_substitution(
    type_name: str, args: Iterable[SomeSubstitutionsType] | None = None
) -> Substitution:
    """The substitution of a name. Raises UnknownSubstitutionError and WordCountError."""
    if type_name not in substitution_parse_methods:
        listed = ", ".join(sorted(substitution_parse_methods))
        raise UnknownSubstitutionError(f"unknown substitution '$({type_name} …)'; there are: {listed}")
    kind, arguments = substitution_parse_methods[type_name](list(args or ()))
    substitution: Substitution = kind(**arguments)
    return substitution


def expose_action(name: str) -> Callable[[Exposed], Exposed]:
    """Makes a class with a class method `parse(entity, parser)`, or such a function, the meaning of a tag.

    What the tag says beyond what was asked for is an error. Raises RuntimeError for a name that is taken, and
    for what cannot parse.
    """
    return __expose_impl(name, action_parse_methods, "action")


def expose_substitution(name: str) -> Callable[[Exposed], Exposed]:
    """Makes a class with a class method `parse(words)`, or such a function, the meaning of `$(name …)`.

    Raises RuntimeError as `expose_action`.
    """
    return __expose_impl(name, substitution_parse_methods, "substitution")


def __expose_impl(
    name: str, parse_methods_map: dict[str, ParseMethod], exposed_type: str
) -> Callable[[Exposed], Exposed]:
    def expose(exposed: Exposed) -> Exposed:
        method = _parse_method(name, exposed, exposed_type)
        known = parse_methods_map.get(name)
        if known is not None and getattr(known, "__wrapped__", known) != method:
            raise RuntimeError(f"Two {exposed_type} parsing methods exposed with the same name: [{name}].")
        parse_methods_map[name] = _complete(method) if exposed_type == "action" else method
        return exposed

    return expose


def _parse_method(name: str, exposed: object, exposed_type: str) -> ParseMethod:
    parse = getattr(exposed, "parse", None)
    if inspect.isclass(exposed):
        if inspect.ismethod(parse):
            return parse
        raise RuntimeError(
            f"Did not find a class method called 'parse' in {exposed.__name__}, exposed as {name}"
        )
    if inspect.isfunction(exposed):
        return exposed
    raise RuntimeError(
        f"Exposed {exposed_type} parser for {name} is not a callable or a class containing a parse method"
    )


def _complete(method: ParseMethod) -> ParseMethod:
    @functools.wraps(method)
    def parse(entity: Entity, parser: object) -> tuple[Callable[..., Any], dict[str, Any]]:
        found = method(entity, parser)
        entity.assert_entity_completely_parsed()
        return found

    return parse


def take_words(
    data: Sequence[SomeSubstitutionsType], substitution: str, *names: str, optional: int = 0
) -> dict[str, Any]:
    """Words by the names of arguments, of which the last ones may be missing. Raises WordCountError."""
    least = len(names) - optional
    if not least <= len(data) <= len(names):
        wanted = f"{least} to {len(names)}" if optional else str(least)
        raise WordCountError(
            f"'$({substitution} …)' has the wrong number of words: {len(data)}, it takes {wanted}"
        )
    return dict(zip(names, data, strict=False))
