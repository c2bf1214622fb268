"""What `handle` answers: a thing as the middleware knows it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from .entity import Destroyable

_Owner = TypeVar("_Owner")
_Self = TypeVar("_Self", bound="Handled")


class Handle(Generic[_Owner]):
    """Stands for its owner; unlike that it is not ended by the end of a `with` block.

    Programs write `with node.handle:` to keep a node from going away meanwhile. It has what its owner has.
    """

    def __init__(self, owner: _Owner) -> None:
        self._owner = owner

    @property
    def owner(self) -> _Owner:
        """The node, publisher, timer or whatever it belongs to."""
        return self._owner

    def __enter__(self) -> Handle[_Owner]:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._owner, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and other._owner is self._owner

    def __hash__(self) -> int:
        return id(self._owner)


class Handled(Destroyable):
    """Something of the middleware, with a handle."""

    @property
    def handle(self: _Self) -> Handle[_Self]:
        """What stands for it in a `with` block. Raises InvalidHandle after destruction."""
        self.check_alive()
        return Handle(self)
