"""The interface of the policies that choose pods and places for them."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

Request = TypeVar("Request", contravariant=True)


@runtime_checkable
class PodPolicy(Protocol[Request]):
    """Makes one kind of choice. The same requests in the same order have the same answers."""

    def choose(self, request: Request) -> int:
        """Return the index of the pod, or of the place for one, in the request; -1 for none now."""
