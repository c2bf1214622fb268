"""Match events by name."""

from collections.abc import Callable

from ..event import Event


def event_named(name: str) -> Callable[[Event], bool]:
    """Matches events whose `name` is this."""
    return lambda event: event.name == name
