"""The type of what can be ended while it is in use."""

from __future__ import annotations

from typing import Protocol


class DestroyableType(Protocol):
    """Kept from ending by a `with` block."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def destroy_when_not_in_use(self) -> None: ...
