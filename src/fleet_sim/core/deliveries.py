"""Deliveries: what managers count, and views plot."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class CountsDeliveries(Protocol):
    """A manager that counts what its robots have delivered; live views plot how many that are per hour."""

    @property
    def delivered(self) -> int:
        """How many there were since the beginning."""
