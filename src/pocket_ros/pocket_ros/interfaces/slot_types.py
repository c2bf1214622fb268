"""The types of a message's fields, as `rosidl_parser` has them."""

from __future__ import annotations

from functools import cache

from ..rosidl_parser.definition import (
    AbstractNestableType,
    AbstractType,
    Array,
    BasicType,
    BoundedSequence,
    BoundedString,
    BoundedWString,
    NamespacedType,
    UnboundedSequence,
    UnboundedString,
    UnboundedWString,
)
from . import catalog
from .layout import IDL_NAMES
from .model import EMPTY_MEMBER, FieldType, Shape


@cache
def slot_types(name: str) -> tuple[AbstractType, ...]:
    """The types of the fields of the message `pkg/msg/Name`, in the order of its definition."""
    fields = (field for field in catalog.message(name).fields if field is not EMPTY_MEMBER)
    return tuple(_type_of(field.type) for field in fields)


def _type_of(kind: FieldType) -> AbstractType:
    element = _element(kind)
    if kind.shape is Shape.ARRAY:
        return Array(element, kind.size)
    if kind.shape is Shape.BOUNDED:
        return BoundedSequence(element, kind.size)
    return UnboundedSequence(element) if kind.shape is Shape.UNBOUNDED else element


def _element(kind: FieldType) -> AbstractNestableType:
    if kind.base == "string":
        return BoundedString(kind.string_bound) if kind.string_bound else UnboundedString()
    if kind.base == "wstring":
        return BoundedWString(kind.string_bound) if kind.string_bound else UnboundedWString()
    if kind.is_primitive:
        return BasicType(IDL_NAMES.get(kind.base, kind.base))
    *namespaces, name = kind.base.split("/")
    return NamespacedType(namespaces, name)
