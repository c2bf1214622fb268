"""Forms: how objects that are no plain values are written in a state file, and found or made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Form(Generic[Thing]):
    """How the objects of `cls`, and of classes derived from it, are written.

    `write` returns plain values that say which object it is, or of what it is made; it raises StateFileError for one
    that cannot be saved. `read` returns the object in the simulation that the file is read into: the one that is there
    already, or a new one. What a file says may be anything: `read` raises for what it cannot use.
    """

    name: str
    cls: type[Thing]
    write: Callable[[Thing], object]
    read: Callable[[Any], Thing]


class Forms:
    """The forms of a simulation, by name and by class. A later form of a class comes before an earlier one."""

    def __init__(self) -> None:
        self._forms: dict[str, Form[Any]] = {}
        self._known: dict[type[Any], Form[Any] | None] = {}

    def add(self, form: Form[Any]) -> None:
        """Write objects of the form's class in this form; it takes the place of one of its name."""
        self._forms.pop(form.name, None)
        self._forms[form.name] = form
        self._known.clear()

    def of(self, cls: type[Any]) -> Form[Any] | None:
        """Return the form of objects of `cls`; None where there is none."""
        if cls not in self._known:
            found = [form for form in self._forms.values() if issubclass(cls, form.cls)]
            self._known[cls] = found[-1] if found else None
        return self._known[cls]

    def named(self, name: object) -> Form[Any] | None:
        """Return the form called `name`; None where there is none."""
        return self._forms.get(name) if isinstance(name, str) else None
