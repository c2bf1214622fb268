"""What verbs about topics, services and actions print, and quality of service in words."""

from __future__ import annotations

import argparse
from typing import Any, TypeVar

from ..rclpy import qos
from ..rclpy.node import Node
from ..rclpy.time import Duration
from .node import is_hidden, wait_until
from .verbs import interface_class, nonnegative_int

NamesAndTypes = list[tuple[str, list[str]]]


def visible(found: NamesAndTypes, include_hidden: bool) -> NamesAndTypes:
    """In order, without the hidden ones unless they are wanted."""
    return [(name, types) for name, types in sorted(found) if include_hidden or not is_hidden(name)]


def print_names(found: NamesAndTypes, *, only_count: bool, show_types: bool) -> None:
    """A name a line, with its types where wanted, or how many there are."""
    if only_count:
        print(len(found))
        return
    for name, types in found:
        print(f"{name} [{', '.join(types)}]" if show_types else name)


def print_names_of_type(found: NamesAndTypes, wanted: str, *, only_count: bool) -> None:
    """The names of one type, a name a line, or how many there are."""
    print_names([item for item in found if wanted in item[1]], only_count=only_count, show_types=False)


def print_types(types: list[str] | None) -> int:
    """A type a line; the exit code, 1 where there is none."""
    for name in types or []:
        print(name)
    return 0 if types else 1


# Subscribing to topics whose type is found out.


def absolute_name(topic: str) -> str:
    """The name below the root."""
    return topic if topic.startswith(("/", "~")) else f"/{topic}"


def find_message_class(node: Node, topic: str, *, wait: bool = False) -> Any:
    """The class of a topic's messages, waiting for the topic to be discovered, with `wait` for as long as it
    takes.

    None where it is not. Raises RuntimeError for a topic with several types.
    """
    name = absolute_name(topic)

    def find() -> list[str] | None:
        return dict(node.get_topic_names_and_types()).get(name)

    types = wait_until(node, find, float("inf")) if wait else wait_until(node, find)
    if not types:
        return None
    if len(types) > 1:
        raise RuntimeError(
            f"Cannot echo topic '{name}', as it contains more than one type: [{', '.join(types)}]"
        )
    return interface_class(types[0], "msg")


# Quality of service on the command line.


def add_qos_arguments(parser: argparse.ArgumentParser, verb: str, default: str) -> None:
    """The arguments that choose a profile and change it."""
    profiles = qos.QoSPresetProfiles.short_keys()
    parser.add_argument(
        "--qos-profile", choices=profiles, help=f"Profile to {verb} with (default: {default})"
    )
    parser.add_argument("--qos-depth", metavar="N", type=nonnegative_int, help="Queue size setting")
    for name, policy in (
        ("history", qos.HistoryPolicy),
        ("reliability", qos.ReliabilityPolicy),
        ("durability", qos.DurabilityPolicy),
        ("liveliness", qos.LivelinessPolicy),
    ):
        text = f"Quality of service {name} setting to {verb} with"
        parser.add_argument(f"--qos-{name}", choices=policy.short_keys(), help=text)
    parser.add_argument(
        "--qos-liveliness-lease-duration-seconds", type=float, help="Liveliness lease duration in seconds"
    )


def chosen_profile(args: argparse.Namespace, default: str) -> qos.QoSProfile:
    """The profile asked for, with the changes asked for."""
    profile: Any = qos.QoSProfile(depth=10)
    preset = qos.QoSPresetProfiles.get_from_short_key(args.qos_profile or default)
    for name in ("history", "depth", "reliability", "durability", "liveliness", "liveliness_lease_duration"):
        setattr(profile, name, getattr(preset, name))
    for name, policy in (
        ("history", qos.HistoryPolicy),
        ("reliability", qos.ReliabilityPolicy),
        ("durability", qos.DurabilityPolicy),
        ("liveliness", qos.LivelinessPolicy),
    ):
        key = getattr(args, f"qos_{name}")
        if key:
            setattr(profile, name, policy(policy.get_from_short_key(key)))
    if args.qos_depth is not None:
        profile.depth = args.qos_depth
    if args.qos_liveliness_lease_duration_seconds is not None:
        profile.liveliness_lease_duration = Duration(seconds=args.qos_liveliness_lease_duration_seconds)
    return profile  # type: ignore[no-any-return]


def is_chosen(args: argparse.Namespace) -> bool:
    """Whether anything was asked for."""
    return any(
        getattr(args, f"qos_{name}") is not None
        for name in ("profile", "depth", "history", "reliability", "durability", "liveliness")
    )


def profile_for_publishers(profile: qos.QoSProfile, publishers: list[Any], topic: str) -> qos.QoSProfile:
    """The profile changed so that it matches every publisher; says where that costs guarantees."""
    if not publishers:
        return profile
    offered = [publisher.qos_profile for publisher in publishers]
    profile.reliability = _strictest(
        [found.reliability for found in offered],
        qos.ReliabilityPolicy.RELIABLE,
        qos.ReliabilityPolicy.BEST_EFFORT,
    )
    profile.durability = _strictest(
        [found.durability for found in offered],
        qos.DurabilityPolicy.TRANSIENT_LOCAL,
        qos.DurabilityPolicy.VOLATILE,
    )
    return profile


_Policy = TypeVar("_Policy", qos.ReliabilityPolicy, qos.DurabilityPolicy)


def _strictest(offered: list[_Policy], strict: _Policy, lax: _Policy) -> _Policy:
    """The strict policy where all publishers offer it; says so where only some do."""
    if all(policy == strict for policy in offered):
        return strict
    if strict in offered:
        kind = f"QoS{type(strict).__name__.removeprefix('QoS')}"
        print(
            f"Some, but not all, publishers are offering {kind}.{strict.name}. Falling back "
            f"to {kind}.{lax.name} as it will connect to all publishers"
        )
    return lax
