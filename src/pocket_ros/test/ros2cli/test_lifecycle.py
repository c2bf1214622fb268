"""`ros2 lifecycle` against a managed node in another process."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.slow
def test_a_managed_node_is_seen_and_changed(start: Callable[..., Any], ros2: Any) -> None:
    start("managed").wait_for("ready")

    def said(*words: str) -> tuple[int, str]:
        done = ros2("lifecycle", *words)
        return done.returncode, done.stdout + done.stderr

    assert said("nodes") == (0, "/managed\n")
    assert said("nodes", "-c", "-a") == (0, "1\n")
    assert said("get", "managed") == (0, "unconfigured [1]\n")
    assert said("list", "/managed") == (
        0,
        "- configure [1]\n\tStart: unconfigured\n\tGoal: configuring\n"
        "- shutdown [5]\n\tStart: unconfigured\n\tGoal: shuttingdown\n",
    )
    assert said("set", "/managed", "activate") == (
        1,
        "Unknown transition requested, available ones are:\n- configure [1]\n- shutdown [5]\n",
    )
    assert said("set", "/managed", "1") == (0, "Transitioning successful\n")
    assert said("set", "/managed", "activate") == (1, "Transitioning failed\n")
    assert said("get") == (0, "/managed: inactive [2]\n")
    assert said("list", "-a", "/managed")[1].count("Start: ") == 25
    assert said("get", "/nobody") == (1, "Node not found\n")
