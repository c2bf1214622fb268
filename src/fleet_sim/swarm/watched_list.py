"""Lists whose changes are checked first: each change is applied or rejected by the owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, SupportsIndex, TypeVar

Item = TypeVar("Item")


class WatchedList(list[Item]):
    """A list whose changes all go through one function.

    The function gets what the list would be after a change; it makes it so with `put`, or raises and so refuses it.
    Reading costs what a list costs. Slices and copies are plain lists.
    """

    def __init__(self, change: Callable[[list[Item]], None]) -> None:
        super().__init__()
        self._change = change
        self._on_add: list[Callable[[Item], object]] = []
        self._on_remove: list[Callable[[Item], object]] = []

    def register_add_callback(self, function: Callable[[Item], object]) -> None:
        """Call `function` with each item that is in the list from now on, once it is there."""
        self._on_add.append(function)

    def register_del_callback(self, function: Callable[[Item], object]) -> None:
        """Call `function` with each item that leaves the list, once it has left."""
        self._on_remove.append(function)

    def put(self, items: Iterable[Item]) -> None:
        """Hold `items` from now on, without calling the watcher."""
        if not self._on_add and not self._on_remove:
            super().__setitem__(slice(None), items)
            return
        before = {id(item): item for item in self}
        super().__setitem__(slice(None), items)
        after = {id(item): item for item in self}
        for functions, some, others in ((self._on_remove, before, after), (self._on_add, after, before)):
            for item in [item for key, item in some.items() if key not in others]:
                for function in functions:
                    function(item)

    def _ask(self, edit: Callable[[list[Item]], Any]) -> Any:
        """Ask for what `edit` makes of this list; return what it returns."""
        wanted = list(self)
        answer = edit(wanted)
        # If the owner refuses, it raises, and this list stays as it was; if not, it calls `put`.
        self._change(wanted)
        return answer

    def append(self, item: Item) -> None:
        """Ask for `item` at the end."""
        self._ask(lambda items: items.append(item))

    def extend(self, more: Iterable[Item]) -> None:
        """Ask for `more` at the end."""
        self._ask(lambda items: items.extend(more))

    def insert(self, index: SupportsIndex, item: Item) -> None:
        """Ask for `item` before `index`."""
        self._ask(lambda items: items.insert(index, item))

    def remove(self, item: Item) -> None:
        """Ask for the list without the first `item`; raises ValueError where there is none."""
        self._ask(lambda items: items.remove(item))

    def pop(self, index: SupportsIndex = -1) -> Item:
        """Ask for the list without the item at `index`, and return that."""
        item: Item = self._ask(lambda items: items.pop(index))
        return item

    def clear(self) -> None:
        """Ask for an empty list."""
        self._ask(lambda items: items.clear())

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Ask for another order."""
        self._ask(lambda items: items.sort(key=key, reverse=reverse))

    def reverse(self) -> None:
        """Ask for the order from behind."""
        self._ask(lambda items: items.reverse())

    def __setitem__(self, index: Any, value: Any) -> None:
        self._ask(lambda items: items.__setitem__(index, value))

    def __delitem__(self, index: Any) -> None:
        self._ask(lambda items: items.__delitem__(index))

    def __iadd__(self, more: Iterable[Item]) -> WatchedList[Item]:  # type: ignore[override,misc]  # it stays itself
        self.extend(more)
        return self

    def __imul__(self, count: SupportsIndex) -> WatchedList[Item]:
        self._ask(lambda items: items.__imul__(count))
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WatchedList[Item]:
        """It stays itself in a copy of what refers to it, as its owner does."""
        return self

    def __reduce__(self) -> tuple[type[list[Item]], tuple[list[Item]]]:
        """A copy is a plain list: only this one has an owner."""
        return list, (list(self),)
