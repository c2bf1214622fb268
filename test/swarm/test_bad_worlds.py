"""What is wrong in a world is refused with its place: in a configuration, a file, or a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dummies import Head

from fleet_sim.base.errors import ConfigError, InvalidValueError
from fleet_sim.swarm.agents import Controller
from fleet_sim.swarm.world import RectangularWorld, World_from_config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"sead": 1}, "sead: unknown key. Did you mean 'seed'"),
        ({"stop_at": 0}, "stop_at: must be a number of steps"),
        ({"stop_at": "import os"}, "stop_at: 'import os' is not an expression"),
        ({"stop_at": "circlines > 1"}, "stop_at: unknown name 'circlines'"),
        (
            {"agents": [{"type": "MazeAgent", "agent_radios": 1}]},
            r"agents\[0\].agent_radios: unknown key",
        ),
        ({"agents": [{"type": "MaceAgent"}]}, r"agents\[0\]: unknown agent 'MaceAgent'. Did you mean 'MazeAgent'"),
        ({"agents": [{"agent_radius": 1}]}, r"agents\[0\]: agent: `type` is missing"),
        (
            {"agents": [{"type": "MazeAgent", "controller": "nowhere:Class"}]},
            r"agents\[0\]: controller: .nowhere",
        ),
        ({"metrics": [Head, Head]}, r"metrics\[1\]: there are two metrics named 'Head'"),
        ({"goals": [{"type": "area", "position": [0, 0]}]}, r"goals\[0\]: goal area: the parameter 'size' is missing"),
        ({"size": [5]}, "size: must be a list of 2"),
        ({"update": "both"}, "update: must be one of 'together', 'in_turn'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        World_from_config(config).setup()


def test_what_is_wrong_in_a_file_is_said_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_text("sizes: [1, 1]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"w.yaml: sizes: unknown key. Did you mean 'size'"):
        World_from_config(path)
    path.write_text("agents: [MazeAgents]\n", encoding="utf-8")
    world = World_from_config(path)
    with pytest.raises(ConfigError, match=r"w.yaml: agents\[0\]: unknown agent 'MazeAgents'"):
        world.setup()
    path.write_text("swarm: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"w.yaml: swarm: must be a mapping"):
        World_from_config(path)


def test_actions_that_are_not_numbers_for_all_are_refused() -> None:
    class Short(Controller):
        def act(self, group: Any) -> Any:
            return np.zeros((len(group) - 1, 2))

    world = RectangularWorld({"agents": [{"type": "MazeAgent", "controller": Short}]})
    world.setup()
    with pytest.raises(InvalidValueError, match=r"Short: expected finite actions of shape \(1, 2\)"):
        world.step()
