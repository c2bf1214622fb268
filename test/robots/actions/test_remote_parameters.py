"""Parameters of actions come in messages, too: they are bounded, and so is what is answered."""

from __future__ import annotations

import pytest

import fleet_sim as fs
from fleet_sim.robots.actions.registry import parse_action_goal


@pytest.mark.parametrize("text", ["[" * 90_000, "x" * 200_000, '{"a": 1}' + " " * 100_000, "nonsense"])
def test_parameters_from_messages_are_bounded(text: str) -> None:
    with pytest.raises(fs.InvalidValueError) as caught:
        parse_action_goal("wait", text)
    assert len(str(caught.value)) < 1000
