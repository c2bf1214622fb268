"""Things that end with a `with` block."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

_Self = TypeVar("_Self", bound="WithBlock")


class WithBlock:
    """`with thing:` ends the thing at the end of the block, whether or not something was raised in it."""

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self._end_block()

    def _end_block(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines what ends with a block")
