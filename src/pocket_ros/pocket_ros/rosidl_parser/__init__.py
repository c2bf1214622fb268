"""The types of fields, as messages tell them in `SLOT_TYPES`."""

from __future__ import annotations

from collections.abc import Iterable

from ..places import not_covered, offer_places

__all__: list[str] = []

__getattr__ = not_covered("rosidl_parser")


# Types of fields: numbers, strings and messages, and arrays and sequences of them. Two are equal where
# they are of one class and have equal attributes.


INTEGER_TYPES = tuple(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u"))
FLOATING_POINT_TYPES = ("float", "double", "long double")
CHARACTER_TYPES = ("char", "wchar")
BASIC_TYPES = (*INTEGER_TYPES, *FLOATING_POINT_TYPES, *CHARACTER_TYPES, "boolean", "octet")


class AbstractType:
    """Base of all types."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self._attributes())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._attributes())
        return f"{type(self).__name__}({values})"

    @classmethod
    def _attributes(cls) -> list[str]:
        return [name for kind in reversed(cls.__mro__) for name in getattr(kind, "__slots__", ())]


class AbstractNestableType(AbstractType):
    """What arrays and sequences may hold."""

    __slots__ = ()


class BasicType(AbstractNestableType):
    """A number, a character, a truth value or a byte; `typename` is that of IDL, such as `double`."""

    __slots__ = ("typename",)

    def __init__(self, typename: str) -> None:
        assert typename in BASIC_TYPES, f"'{typename}' is none of {', '.join(BASIC_TYPES)}"
        self.typename = typename


class NamedType(AbstractNestableType):
    """A name that nobody has looked up."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class NamespacedType(AbstractNestableType):
    """A message: package and kind, and its name in them."""

    __slots__ = ("name", "namespaces")

    def __init__(self, namespaces: Iterable[str], name: str) -> None:
        self.namespaces = namespaces
        self.name = name

    def namespaced_name(self) -> tuple[str, ...]:
        """All parts."""
        return (*self.namespaces, self.name)


class AbstractGenericString(AbstractNestableType):
    """A string of any kind of characters."""

    __slots__ = ()

    def has_maximum_size(self) -> bool:
        """Whether its length has a bound."""
        return hasattr(self, "maximum_size")


class AbstractString(AbstractGenericString):
    """A string."""

    __slots__ = ()


class AbstractWString(AbstractGenericString):
    """A string of wide characters."""

    __slots__ = ()


class BoundedString(AbstractString):
    """A string of at most so many characters."""

    __slots__ = ("maximum_size",)

    def __init__(self, maximum_size: int) -> None:
        assert maximum_size >= 0, f"a string of at most {maximum_size} characters"
        self.maximum_size = maximum_size


class UnboundedString(AbstractString):
    """A string of any length."""

    __slots__ = ()


class BoundedWString(AbstractWString):
    """A string of at most so many wide characters."""

    __slots__ = ("maximum_size",)

    def __init__(self, maximum_size: int) -> None:
        self.maximum_size = maximum_size


class UnboundedWString(AbstractWString):
    """A string of wide characters, of any length."""

    __slots__ = ()


class AbstractNestedType(AbstractType):
    """Several values of one type."""

    __slots__ = ("value_type",)

    def __init__(self, value_type: AbstractNestableType) -> None:
        assert isinstance(value_type, AbstractNestableType), f"{value_type!r} is no type of an element"
        self.value_type = value_type

    def has_maximum_size(self) -> bool:
        """Whether the number of values is fixed or has a bound."""
        return not isinstance(self, UnboundedSequence)


class Array(AbstractNestedType):
    """So many values."""

    __slots__ = ("size",)

    def __init__(self, value_type: AbstractNestableType, size: int) -> None:
        super().__init__(value_type)
        assert size > 0, f"an array of {size} values"
        self.size = size


class AbstractSequence(AbstractNestedType):
    """A sequence."""

    __slots__ = ()


class BoundedSequence(AbstractSequence):
    """At most so many values."""

    __slots__ = ("maximum_size",)

    def __init__(self, value_type: AbstractNestableType, maximum_size: int) -> None:
        super().__init__(value_type)
        assert maximum_size > 0, f"a sequence of at most {maximum_size} values"
        self.maximum_size = maximum_size


class UnboundedSequence(AbstractSequence):
    """Any number of values."""

    __slots__ = ()


offer_places(__name__)
