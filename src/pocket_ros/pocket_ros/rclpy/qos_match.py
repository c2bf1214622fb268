"""Why a publisher and a subscription do not match, or may not, in the words of rmw_cyclonedds.

Profiles are read by their attributes only: the module of profiles imports this one.
"""

from __future__ import annotations

from typing import NamedTuple

from .duration import Duration, Infinite

_LEFT_OPEN = ("SYSTEM_DEFAULT", "UNKNOWN")


class _Rule(NamedTuple):
    """A policy, the value offered that does not match the value asked, and what is said of them."""

    policy: str
    offered: str
    asked: str
    conflict: str
    asked_is_open: str
    offered_is_open: str


_RULES = (
    _Rule(
        "reliability",
        "BEST_EFFORT",
        "RELIABLE",
        "Best effort publisher and reliable subscription",
        "Best effort publisher, but subscription is",
        "Reliable subscription, but publisher is",
    ),
    _Rule(
        "durability",
        "VOLATILE",
        "TRANSIENT_LOCAL",
        "Volatile publisher and transient local subscription",
        "Volatile publisher, but subscription is",
        "Transient local subscription, but publisher is",
    ),
    _Rule(
        "liveliness",
        "AUTOMATIC",
        "MANUAL_BY_TOPIC",
        "Publisher's liveliness is automatic and subscription's is manual by topic",
        "Publisher's liveliness is automatic, but subscription's is",
        "Subscription's liveliness is manual by topic, but publisher's is",
    ),
)
_DURATIONS = (
    (
        "deadline",
        "Subscription deadline is less than publisher deadline",
        "Subscription has a deadline, but publisher does not",
    ),
    (
        "liveliness_lease_duration",
        "Subscription liveliness lease duration is less than publisher",
        "Subscription has a liveliness lease duration, but publisher does not",
    ),
)


def conflicts(offered: object, asked: object) -> list[str]:
    """Why the two profiles do not match; none where they do."""
    found = [rule.conflict for rule in _RULES if _values(rule, offered, asked) == (rule.offered, rule.asked)]
    for name, is_less, is_missing in _DURATIONS:
        span, wanted = getattr(offered, name), getattr(asked, name)
        if _nanoseconds(span) > _nanoseconds(wanted):
            found.append(is_less if span.nanoseconds else is_missing)
    return found


def doubts(offered: object, asked: object) -> list[str]:
    """Why it is up to the middleware whether the two profiles match; none where it is not."""
    found = []
    for rule in _RULES:
        values = _values(rule, offered, asked)
        first, second = (value.lower() for value in values)
        is_open = [value in _LEFT_OPEN for value in values]
        if all(is_open):
            found.append(f"Publisher {rule.policy} is {first} and subscription {rule.policy} is {second}")
        elif is_open[0] and values[1] == rule.asked:
            found.append(f"{rule.offered_is_open} {first}")
        elif is_open[1] and values[0] == rule.offered:
            found.append(f"{rule.asked_is_open} {second}")
    return found


def _values(rule: _Rule, offered: object, asked: object) -> tuple[str, str]:
    return getattr(offered, rule.policy).name, getattr(asked, rule.policy).name


def _nanoseconds(duration: Duration) -> int:
    return duration.nanoseconds or Infinite.nanoseconds
