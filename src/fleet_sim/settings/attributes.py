"""Attributes of objects that are no settings: a misspelt one is refused, instead of being kept and never read."""

from __future__ import annotations

import difflib
import dis
import inspect
from collections.abc import Iterable, Iterator
from functools import cached_property
from types import CodeType, FunctionType

ALIKE = 0.8
"""How alike two names must be for one to be taken for a slip of the other. Others are notes of the user's own."""


class Attentive:
    """Base of classes with plain attributes: assigning to a name that is much like a known one raises AttributeError.

    Known are what the class declares and what its methods assign, of derived classes too. Private names pass, and
    names like no other: they are notes of the user's own.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        known = vars(type(self)).get("_known_names") or known_names(type(self))
        if name not in known and not name.startswith("_"):
            refuse_slip(self, name, known)
        super().__setattr__(name, value)


def known_names(cls: type) -> frozenset[str]:
    """Return the names that objects of `cls` have or may get: class attributes, annotations, what methods assign."""
    names: set[str] = set()
    for base in cls.__mro__:
        # A copy: another thread may be here with the same class, and write down what it found.
        members = dict(vars(base))
        names.update(members, members.get("__annotations__", ()))
        # Python tells nowhere before 3.13 which attributes a class has; its code does.
        for code in _code_in(members.values()):
            names.update(step.argval for step in dis.get_instructions(code) if step.opname == "STORE_ATTR")
    known = frozenset(names)
    # Kept by the class itself: a table would keep classes alive that a function defined, and all that they refer to.
    type.__setattr__(cls, "_known_names", known)
    return known


def _code_in(members: Iterable[object]) -> Iterator[CodeType]:
    """Yield the code of functions among `members`, also of properties, class methods and those that are wrapped."""
    for member in members:
        if isinstance(member, property):
            yield from _code_in((member.fget, member.fset))
        elif isinstance(member, (classmethod, staticmethod, cached_property)):
            yield from _code_in((member.func if isinstance(member, cached_property) else member.__func__,))
        elif isinstance(member, FunctionType):
            yield inspect.unwrap(member).__code__


def refuse_slip(owner: object, name: str, known: frozenset[str] | set[str]) -> None:
    """Raise AttributeError where `name` is much like a public one of `known`."""
    close = difflib.get_close_matches(name, [other for other in known if not other.startswith("_")], 1, ALIKE)
    if close:
        raise AttributeError(f"{type(owner).__name__} has no attribute {name!r}. Did you mean {close[0]!r}?")
