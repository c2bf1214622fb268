"""Helpers for actions and substitutions."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Union, get_args, get_origin  # noqa: UP035 - entities are asked for typing.List

import yaml

from ...places import not_covered, offer_places
from ..description import LaunchDescriptionEntity, SomeEntitiesType, SomeSubstitutionsType, Substitution

if TYPE_CHECKING:
    from ..description import LaunchContext


# Type checks with readable errors.


def is_a(obj: Any, entity_type: type) -> bool:
    """Whether `obj` is an instance of the type."""
    return isinstance(obj, entity_type)


def is_a_subclass(obj: Any, entity_type: type) -> bool:
    """Whether `obj` is an instance or a subclass of the type."""
    return isinstance(obj, entity_type) or (inspect.isclass(obj) and issubclass(obj, entity_type))


def isclassinstance(obj: Any) -> bool:
    """Whether `obj` is an instance of a class, not a class or a builtin function."""
    return not inspect.isclass(obj) and not inspect.isroutine(obj)


def ensure_argument_type(
    argument: object, types: type | Iterable[type], argument_name: str, caller: str | None = None
) -> None:
    """Raise TypeError unless `argument` is of one of the types, saying which are allowed."""
    allowed = (types,) if isinstance(types, type) else tuple(types)
    if not isinstance(argument, allowed):
        names = ", ".join(getattr(t, "__name__", str(t)) for t in allowed)
        where = f"{caller}: " if caller else ""
        raise TypeError(
            f"{where}'{argument_name}' expected to be one of ({names}), got {type(argument).__name__}"
        )


# Sequences of entities.


def normalize_to_list_of_entities(entities: SomeEntitiesType | None) -> list[LaunchDescriptionEntity]:
    """One entity or several, as a flat list. Raises TypeError naming what is neither."""
    if entities is None:
        return []
    if isinstance(entities, LaunchDescriptionEntity):
        return [entities]
    flat: list[LaunchDescriptionEntity] = []
    for entity in entities:
        if not isinstance(entity, LaunchDescriptionEntity | list | tuple):
            raise TypeError(f"expected launch entities, got {entity!r} of type {type(entity).__name__}")
        flat.extend(normalize_to_list_of_entities(entity))
    return flat


def visit_all_entities_and_collect_futures(
    entity: LaunchDescriptionEntity, context: LaunchContext
) -> list[tuple[LaunchDescriptionEntity, asyncio.Future[Any]]]:
    """Visit an entity and all that follows from it, depth first, and answer with what is to be awaited."""
    following = entity.visit(context)
    future = entity.get_asyncio_future()
    found = [] if future is None else [(entity, future)]
    for further in following or ():
        found += visit_all_entities_and_collect_futures(further, context)
    return found


# Sequences of text and substitutions.


def normalize_to_list_of_substitutions(subs: SomeSubstitutionsType) -> list[Substitution]:
    """Text, a substitution or a sequence of both, as a list of substitutions.

    Raises TypeError for anything else.
    """
    from ..description import TextSubstitution

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


__all__ = [
    "ensure_argument_type",
    "is_a",
    "is_a_subclass",
    "isclassinstance",
    "normalize_to_list_of_entities",
    "normalize_to_list_of_substitutions",
    "perform_substitutions",
    "visit_all_entities_and_collect_futures",
]

__getattr__ = not_covered("launch.utilities")

# Text to values: the YAML scalars and lists that launch files write as text.


ScalarTypesTuple = (int, float, bool, str)
ListTypesTuple = (List[int], List[float], List[bool], List[str])  # noqa: UP006
AllowedTypesTuple = (*ScalarTypesTuple, *ListTypesTuple)

ScalarTypesType = type[int] | type[float] | type[bool] | type[str]
ListTypesType = type[list[int]] | type[list[float]] | type[list[bool]] | type[list[str]]
AllowedTypesType = ScalarTypesType | ListTypesType

ScalarValueType = int | float | bool | str
ListValueType = list[int] | list[float] | list[bool] | list[str]
SequenceValueType = Sequence[int] | Sequence[float] | Sequence[bool] | Sequence[str]
AllowedValueType = ScalarValueType | SequenceValueType

# Each may be of text and substitutions in place of the value, which is known when the launch runs.
SomeScalarType = Union[SomeSubstitutionsType, ScalarValueType]  # noqa: UP007
SomeSequenceType = Sequence[SomeScalarType]
SomeValueType = Union[SomeScalarType, SomeSequenceType]  # noqa: UP007
NormalizedScalarType = list[Substitution] | ScalarValueType
NormalizedSequenceType = list[NormalizedScalarType]
NormalizedValueType = NormalizedScalarType | NormalizedSequenceType
StrSomeScalarType = SomeScalarType
StrSomeSequenceType = Sequence[ScalarValueType]
StrSomeValueType = Union[StrSomeScalarType, StrSomeSequenceType]  # noqa: UP007


def is_typing_list(data_type: object) -> bool:
    """Whether a type is typing.List, or a list of some type."""
    return data_type is List or get_origin(data_type) is list  # noqa: UP006


def is_valid_scalar_type(data_type: object) -> bool:
    """Whether a type is int, float, bool or str."""
    return data_type in ScalarTypesTuple


def extract_type(data_type: object) -> tuple[Any, bool]:
    """The scalar type, and whether a list of it is meant. Raises ValueError for any other type."""
    held = get_args(data_type) if is_typing_list(data_type) else ()
    scalar = held[0] if held else data_type
    if not is_valid_scalar_type(scalar):
        raise ValueError(
            f"Unrecognized data type: {data_type}; there are int, float, bool, str and lists of them"
        )
    return scalar, bool(held)


def is_instance_of_valid_type(value: object, *, can_be_str: bool = False) -> bool:
    """Whether a value is a scalar or a list of scalars of one type, with texts among them if they may be."""
    if not isinstance(value, list):
        return isinstance(value, ScalarTypesTuple)
    kinds = {type(item) for item in value}
    if can_be_str and len(kinds) > 1:
        kinds.discard(str)
    return len(kinds) <= 1 and kinds <= set(ScalarTypesTuple)


def is_instance_of(value: object, data_type: object = None, *, can_be_str: bool = False) -> bool:
    """Whether a value is of a type, or text if it may be; None is any type. Raises ValueError."""
    if data_type is None:
        return is_instance_of_valid_type(value, can_be_str=can_be_str)
    scalar, is_list = extract_type(data_type)
    allowed = (str, scalar) if can_be_str else (scalar,)
    if not is_list:
        return isinstance(value, allowed)
    return isinstance(value, list) and all(isinstance(item, allowed) for item in value)


def coerce_to_type(value: str, data_type: object = None, *, can_be_str: bool = False) -> Any:
    """The value a text stands for: of a type, or whatever YAML makes of it.

    With `can_be_str` text that is not of the type stays text, and lists may hold texts. Raises ValueError,
    and TypeError for what is no text.
    """
    ensure_argument_type(value, str, "value", "coerce_to_type")
    scalar, is_list = (None, False) if data_type is None else extract_type(data_type)
    if scalar is str and not is_list:
        return value
    try:
        found = _convert(value, scalar, is_list, can_be_str)
    except ValueError as error:
        if can_be_str and not is_list:
            return value
        wanted = getattr(scalar, "__name__", "YAML") if not is_list else data_type
        raise ValueError(f"cannot read '{value}' as {wanted}: {error}") from None
    return found


def _convert(text: str, scalar: Any, is_list: bool, can_be_str: bool) -> Any:
    if scalar in (int, float) and not is_list:
        return scalar(text)
    if scalar is bool and not is_list:
        text = {"1": "true", "0": "false"}.get(text, text)
    if scalar is None and not text:
        return text
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if scalar is None:
        if not is_instance_of_valid_type(found, can_be_str=can_be_str):
            raise ValueError(f"it is of type {type(found).__name__}")
        return found
    allowed = (scalar, str) if can_be_str else (scalar,)
    items = found if is_list else [found]
    if not isinstance(items, list) or not all(isinstance(item, allowed) for item in items):
        raise ValueError(f"it is {found!r}")
    return found


def coerce_list(value: list[str], data_type: object = None, *, can_be_str: bool = False) -> list[Any]:
    """Texts as values of one type. Raises ValueError, and TypeError for what is no list of texts."""
    ensure_argument_type(value, list, "value", "coerce_list")
    found = [coerce_to_type(item, data_type, can_be_str=can_be_str) for item in value]
    if not is_instance_of_valid_type(found, can_be_str=can_be_str):
        raise ValueError(f"cannot read {value} as a list of one type, it holds {found}")
    return found


def get_typed_value(value: str | list[str], data_type: object, *, can_be_str: bool = False) -> Any:
    """A text, or a list of texts, as a value of a type. Raises ValueError and TypeError."""
    if not isinstance(value, list):
        return coerce_to_type(value, data_type, can_be_str=can_be_str)
    if data_type is None:
        return coerce_list(value, None, can_be_str=can_be_str)
    scalar, is_list = extract_type(data_type)
    if not is_list:
        raise TypeError(f"cannot read the list {value} as one {scalar.__name__}")
    return coerce_list(value, scalar, can_be_str=can_be_str)


def is_substitution(x: object) -> bool:
    """Whether it is a substitution, or texts and substitutions with at least one of the latter."""
    if isinstance(x, Substitution):
        return True
    if isinstance(x, str) or not isinstance(x, Iterable):
        return False
    parts = list(x)
    return all(isinstance(part, Substitution | str) for part in parts) and any(
        isinstance(part, Substitution) for part in parts
    )


def is_normalized_substitution(x: object) -> bool:
    """Whether it is a list of nothing but substitutions."""
    return isinstance(x, list) and bool(x) and all(isinstance(part, Substitution) for part in x)


def normalize_typed_substitution(value: Any, data_type: Any = None) -> Any:
    """A value as it is, or text and substitutions as a list of substitutions to be read later.

    A list in which an item is a list, or a number, is one of values, each of which may be of substitutions.
    Raises TypeError for what can never be of the type, ValueError for a type that no value has.
    """
    if isinstance(value, ScalarTypesTuple):
        if not is_instance_of(value, data_type):
            raise TypeError(f"{value!r} is not of type {data_type}")
        return value
    if is_substitution(value):
        return normalize_to_list_of_substitutions(value)
    if not isinstance(value, Iterable):
        raise TypeError(f"expected a value, substitutions or a list of them, got {value!r}")
    scalar, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise TypeError(f"{value!r} is a list, it must be of type {data_type}")
    return _normalize_items(list(value), scalar)


def _normalize_items(values: list[Any], scalar: Any) -> list[Any]:
    kinds = {type(item) for item in values if not is_substitution(item)}
    if kinds == {int, float}:
        kinds = {float}
        values = [float(item) if isinstance(item, int) else item for item in values]
    if not kinds <= set(ScalarTypesTuple) or len(kinds) > 1:
        raise TypeError(f"a list must hold values of one type and substitutions, got {values!r}")
    if scalar is not None and kinds and kinds != {scalar}:
        raise TypeError(f"expected a list of {scalar.__name__}, got {values!r}")
    return [normalize_to_list_of_substitutions(item) if is_substitution(item) else item for item in values]


def perform_typed_substitution(context: LaunchContext, value: Any, data_type: Any = None) -> Any:
    """A normalized value in a context, of `data_type` where one is given. Raises TypeError and ValueError."""
    if isinstance(value, ScalarTypesTuple):
        if data_type is not None and not is_instance_of(value, data_type):
            raise TypeError(f"{value!r} is not of type {data_type}")
        return value
    if is_normalized_substitution(value):
        return coerce_to_type(perform_substitutions(context, value), data_type)
    if not isinstance(value, list):
        raise TypeError(f"expected a value, or a list of values and substitutions, got {value!r}")
    scalar, is_list = (None, True) if data_type is None else extract_type(data_type)
    if not is_list:
        raise ValueError(f"{value!r} is a list, it must be of type {data_type}")
    found = [
        coerce_to_type(perform_substitutions(context, item), scalar)
        if is_normalized_substitution(item)
        else item
        for item in value
    ]
    if not is_instance_of(found, data_type):
        raise ValueError(f"expected a list of {'one type' if scalar is None else scalar}, got {found!r}")
    return found


def perform_float(context: LaunchContext, value: float | SomeSubstitutionsType) -> float:
    """A number, or text and substitutions that make one. Raises ValueError."""
    if isinstance(value, int | float):
        return float(value)
    return float(
        coerce_to_type(perform_substitutions(context, normalize_to_list_of_substitutions(value)), float)
    )


def perform_bool(context: LaunchContext, value: bool | SomeSubstitutionsType) -> bool:
    """A truth value, or text and substitutions that make one. Raises ValueError."""
    if isinstance(value, bool):
        return value
    text = perform_substitutions(context, normalize_to_list_of_substitutions(value))
    return bool(coerce_to_type(text, bool))


offer_places(__name__)
