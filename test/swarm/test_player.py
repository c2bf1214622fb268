"""The loop around a world: events, steps, drawing; pause, single steps, speed, selection, recording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fleet_sim.swarm import simulate
from fleet_sim.swarm.agents import SwarmAgent
from fleet_sim.swarm.simulate import Event, Player
from fleet_sim.swarm.swarm_state import Metric
from fleet_sim.swarm.world import RectangularWorld


class Steps(Metric):
    def calculate(self) -> None:
        assert self.world is not None
        self.set_value(self.world.steps)


class Script:
    """A window of the user's own: it presses keys frame by frame and notes what is shown; then it closes."""

    def __init__(self, *frames: str | Event) -> None:
        self.frames = frames
        self.shown: list[int] = []
        self.lines: list[list[str]] = []
        self.selected: list[list[SwarmAgent]] = []
        self._left: Iterator[str | Event] = iter(frames)
        self._handled = 0

    @property
    def is_open(self) -> bool:
        return self._handled < len(self.frames)

    def events(self) -> list[Event]:
        self._handled += 1
        event = next(self._left)
        return [event] if isinstance(event, Event) else [Event("key", key) for key in event.split()]

    def show(self, world: RectangularWorld, lines: list[str], selected: list[SwarmAgent]) -> None:
        self.shown.append(world.steps)
        self.lines.append(lines)
        self.selected.append(list(selected))

    def close(self) -> None:
        self._handled = len(self.frames)


def small_world(**more: Any) -> RectangularWorld:
    agents = [{"type": "MazeAgent", "agent_radius": 0.2, "position": [x, 2], "name": f"a{x}"} for x in (1, 2, 3)]
    return RectangularWorld({"agents": agents, "metrics": [Steps]} | more)


def play(window: Script, world: RectangularWorld | None = None, **options: Any) -> RectangularWorld:
    return simulate.main(world or small_world(), gui=window, framerate_limit=1e6, **options)


def test_one_step_is_made_for_each_picture() -> None:
    window = Script("", "", "")
    world = play(window)
    # Closing is noticed at the beginning of a frame; what is closed is not drawn.
    assert world.steps == 3
    assert window.shown == [1, 2]


def test_pause_and_single_steps_draw_all_the_while() -> None:
    window = Script("", "space", "", "right", "l right", "k", "", "")
    play(window)
    assert window.shown == [1, 1, 1, 2, 4, 5, 6]
    assert "paused" in window.lines[1][0] and "paused" not in window.lines[-1][0]


def test_beginning_paused() -> None:
    window = Script("", "", "")
    assert play(window, start_paused=True).steps == 0
    assert window.shown == [0, 0]


def test_faster_skips_pictures_and_slower_comes_back() -> None:
    window = Script("shift_r shift_r", "", "shift_l", "shift_l", "")
    play(window)
    assert window.shown == [4, 8, 10, 11]
    window = Script("shift_r " * 10, "")
    player = Player(small_world(), window)
    player.run()
    assert player.steps_per_frame == 256 and window.shown == [256]


def test_keys_that_steer_agents_mean_nothing_else() -> None:
    agents = [{"type": "MazeAgent", "position": [2, 2], "controller": {"type": "human", "keys": "ijkl"}}]
    window = Script("k", "l", "space", "")
    world = play(window, small_world(agents=agents))
    assert world.steps == 2 and "paused" in window.lines[-1][0]


def test_escape_closes() -> None:
    assert play(Script("", "escape", "", "")).steps == 2


def test_step_size_is_the_steps_per_picture() -> None:
    window = Script("", "", "")
    play(window, step_size=5)
    assert window.shown == [5, 10]


def test_counting_anew_and_starting_again() -> None:
    window = Script("", "", "r", "backspace", "")
    world = play(window)
    assert window.lines[2][0].startswith("step 1 ")
    assert window.shown == [1, 2, 3, 1]
    assert world.steps == 2


def test_selecting_and_removing_agents() -> None:
    at = [Event("click", point=(x, 2.1)) for x in (1.0, 2.0)]
    window = Script(at[0], at[1], at[0], "p", "a", "c", Event("click", point=(4.5, 4.5)), "")
    world = play(window)
    names = [[agent.name if agent.is_alive else None for agent in frame] for frame in window.selected]
    assert [len(frame) for frame in names] == [1, 2, 1, 0, 2, 0, 0]
    assert names[0] == ["a1"]
    assert [agent.name for agent in world.population] == ["a1", "a3"]


def test_metrics_can_be_shown_and_hidden() -> None:
    window = Script("", "i", "i", "")
    play(window)
    assert [len(lines) for lines in window.lines] == [2, 1, 2]
    assert window.lines[0][1] == "Steps 0"


def test_f4_records_a_gif(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    window = Script("", "f4", *[""] * 8, "f4", "")
    play(window, save_every_ith_frame=2)
    assert "recording" in window.lines[2][0] and "recording" not in window.lines[-1][0]
    assert (tmp_path / "world_1.gif").read_bytes().startswith(b"GIF89a")


def test_headless_runs_until_the_world_stops() -> None:
    assert simulate.main(small_world(stop_at=30), show_gui=False).steps == 30
    assert simulate.main(small_world(), show_gui=False, steps=12).steps == 12
    seen: list[int] = []
    world = simulate.main(
        {"type": "RectangularWorld"},
        show_gui=False,
        stop_detection=lambda world: world.steps >= 9,
        subscribers=[lambda world: seen.append(world.steps)],
    )
    assert world.steps == 9 and seen == list(range(1, 10))


def test_a_window_is_made_by_what_is_handed_in_and_closed_at_the_end() -> None:
    made: list[tuple[RectangularWorld, Script]] = []

    def open_script(world: RectangularWorld) -> Script:
        made.append((world, Script("", "", "", "")))
        return made[-1][1]

    world = small_world()
    simulate.main(world, gui=open_script, steps=2, framerate_limit=1e6)
    assert [owner for owner, _ in made] == [world]
    assert not made[0][1].is_open
    kept = Script("", "", "", "")
    simulate.main(world, gui=kept, steps=2, framerate_limit=1e6)
    assert kept.is_open


def test_a_window_tells_the_world_which_keys_are_held() -> None:
    world = small_world()
    world.press_key("w")
    world.press_key("a")
    world.release_key("w")
    world.release_key("never pressed")
    assert world.keys == {"a"}
    world.release_all_keys()
    assert not world.keys
