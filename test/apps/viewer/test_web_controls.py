"""The controls on a page of the live view show what is so, and those that could do nothing are not there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import numpy as np
import pytest

from fleet_sim import (
    AgentSpawnParams,
    MoveTo,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
    Snapshot,
)

pytest.importorskip("viser")
from page_client import CAMERA, PageClient, click

from fleet_sim.apps.viewer import view_of
from fleet_sim.apps.viewer.live import RecordedSource
from fleet_sim.base.params import ViewParams

pytestmark = pytest.mark.filterwarnings("ignore:Queued a .* on a closed connection:UserWarning")

Sim = MultiRobotSimulationCore
BOX = ShapeParams("box", half_extents=(0.3, 0.3, 0.15), rgba_color=(0.2, 0.5, 0.9, 1.0))


@contextmanager
def page_of(sim: Sim, **settings: Any) -> Iterator[PageClient]:
    """Run `sim` in another thread, and give a page that has its controls."""
    view: Any = sim.view.show(port=0, **settings)
    thread = Thread(target=sim.run_simulation, args=(0.0,))
    thread.start()
    try:
        with PageClient(view.url) as page:
            page.read_until(lambda: {"speed", "go to", "Stop", "move by hand"} <= page.controls.keys())
            yield page
    finally:
        sim.stop()
        thread.join()


def value(page: PageClient, label: str, name: str) -> Any:
    """Return what has been said last of a control."""
    made = page.controls[label]
    return page.values.get(made["uuid"], {}).get(name, made.get(name, made["props"].get(name)))


def add(sim: Sim, name: str, x: float, **settings: Any) -> Any:
    return sim.spawn(AgentSpawnParams(BOX, BOX, Pose.from_xyz(x, 0.0, 0.15), name=name, **settings))


def test_a_speed_that_is_no_choice_is_shown(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=4.0)
    with page_of(sim) as page:
        page.read_until(lambda: value(page, "speed", "value") == "4x")
        assert "4x" in value(page, "speed", "options")
        page.set("speed", value="2x")
        page.read_until(lambda: sim.params.target_rtf == 2.0)
        sim.between_steps(lambda: setattr(sim.params, "target_rtf", 2.5)).result()
        page.read_until(lambda: value(page, "speed", "value") == "2.5x")
        options = value(page, "speed", "options")
        assert options.index("2x") + 1 == options.index("2.5x") and options[-1] == "as fast as possible"
        page.set("speed", value="as fast as possible")
        page.read_until(lambda: sim.params.target_rtf == 0.0)


def test_reset_is_offered_where_there_is_an_initial_state(make_sim: Callable[..., Sim]) -> None:
    for kept in (True, False):
        sim = make_sim(target_rtf=1.0, keep_initial_state=kept)
        with page_of(sim) as page:
            assert ("Reset" in page.controls) == kept


def test_what_is_carried_is_not_moved_by_hand(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    carrier, free = add(sim, "carrier", 0.0), add(sim, "free", 3.0)
    load = sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(0.0, 0.0, 0.5), name="load"))
    carrier.attach_object(load, keep_world_pose=True)
    with page_of(sim) as page:

        def shows(name: str, *, movable: bool) -> bool:
            return value(page, "move by hand", "visible") == movable and any(
                f"**{name}**" in str(said.get("_markdown")) for said in page.values.values()
            )

        page.send(click(3.0, 0.0))
        page.read_until(lambda: shows("free", movable=True))
        page.set("move by hand", value=True)
        page.send({**click(0.0, 0.0), "modifier": "shift"})
        page.read_until(lambda: shows("load", movable=False))
        page.read_until(lambda: value(page, "move by hand", "value") is False)
        page.send(click(0.0, 0.0))
        page.read_until(lambda: shows("carrier", movable=True))
    assert free.get_pose().x == pytest.approx(3.0)


def test_the_same_refusal_is_shown_once(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    add(sim, "arm", 0.0, use_fixed_base=True)
    refused: list[Any] = []
    sim.inbox.on_apply.append(refused.append)
    with page_of(sim) as page:
        page.send(click(0.0, 0.0))
        page.read_until(lambda: any("**arm**" in str(said.get("_markdown")) for said in page.values.values()))
        for _ in range(5):
            page.send(click(2.0, 1.0))
        page.read_until(lambda: len(refused) == 5 and bool(page.notifications))
        seen = page.updates
        page.read_until(lambda: page.updates > seen + 3)
        assert len(page.notifications) == 1 and page.notifications[0][0] == "arm"


def test_pages_that_began_on_an_empty_floor_look_at_what_comes(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    with page_of(sim) as page:
        sim.between_steps(lambda: [add(sim, f"robot_{number}", 5.0 * number) for number in range(10)]).result()
        # Far enough away for all of them.
        page.read_until(lambda: bool(page.eyes) and np.linalg.norm(np.array(page.eyes[-1]) - [22.5, 0.0, 0.0]) > 25.0)


def test_a_camera_that_follows_loses_nothing_on_a_slow_page(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    robot = add(sim, "robot", 0.0, motion_mode="omnidirectional", max_linear_vel=4.0)
    with page_of(sim) as page:
        page.send(click(0.0, 0.0))
        page.read_until(lambda: value(page, "follow with the camera", "visible"))
        page.set("follow with the camera", value=True)
        seen = page.updates
        page.read_until(lambda: page.updates > seen + 3)
        page.send(click(6.0, 0.0))

        def where() -> Any:
            return np.array(robot.get_pose().position)

        for far in (1.0, 2.0, 3.0, 4.0, 5.9):
            page.read_until(functools.partial(lambda least: where()[0] > least, far))
            # Where it was when the robot began.
            page.send(CAMERA)
        page.read_until(lambda: len(page.eyes) > 0 and np.abs(page.eyes[-1] - where() - CAMERA["position"]).max() < 0.2)


def test_robots_are_found_by_name_state_and_key(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    for number in range(12):
        add(sim, f"cart_{number}", 3.0 * number, motion_mode="omnidirectional")
    sim.get_object("cart_7").set_velocity(vy=0.1)

    with page_of(sim) as page:

        def selected(name: str) -> bool:
            return any(
                f"**{name}**" in str(said.get("_markdown")).replace("&#95;", "_") for said in page.values.values()
            )

        page.read_until(lambda: len(value(page, "go to", "options")) == 13)
        page.set("go to", value="cart_9")
        page.read_until(lambda: selected("cart_9"))
        page.read_until(lambda: bool(page.eyes) and np.linalg.norm(np.array(page.eyes[-1]) - [27.0, 0.0, 0.15]) < 13.0)
        page.set("state", value="moving")
        # Blank again, as the next name is typed behind what is there.
        page.read_until(lambda: tuple(value(page, "go to", "options")) == (" ", "cart_7"))
        assert value(page, "go to", "value") == " "
        page.send({"type": "CommandTriggerMessage", "uuid": page.controls["Select robot 1 of the list"]["uuid"]})
        page.read_until(lambda: selected("cart_7"))
        seen = len(page.eyes)
        page.send({"type": "CommandTriggerMessage", "uuid": page.controls["Top view"]["uuid"]})
        page.read_until(lambda: len(page.eyes) > seen and page.eyes[-1][2] > 15.0)
        # Straight above the middle of all, but for the room that the panel takes.
        assert abs(page.eyes[-1][1]) < 0.03 * page.eyes[-1][2]
        page.send({"type": "CommandTriggerMessage", "uuid": page.controls["Pause or resume"]["uuid"]})
        page.read_until(lambda: sim.control.is_paused)


def test_what_happened_leads_to_who_it_happened_to(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=10.0, blocked_timeout=1.0)
    cart = add(sim, "cart", 0.0, block_on_collision=True)
    sim.spawn(SimObjectSpawnParams(BOX, BOX, Pose.from_xyz(2.0, 0.0, 0.15), name="wall", collision_mode="static"))
    with page_of(sim) as page:
        page.read_until(lambda: "event" in page.controls)
        sim.between_steps(lambda: cart.execute_action(MoveTo(Pose.from_xyz(5.0, 0.0, 0.15)))).result()

        def lines() -> list[str]:
            return [line.split("  ", 1)[1] for line in value(page, "event", "options")[1:]]

        page.read_until(lambda: len(lines()) == 2)
        assert lines() == ["cart: MoveTo failed: blocked by 'wall' for 1 s", "cart: blocked by wall"]
        page.set("event", value=value(page, "event", "options")[1])
        page.read_until(lambda: any("**cart**" in str(said.get("_markdown")) for said in page.values.values()))


def test_removing_is_asked_twice(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim(target_rtf=1.0)
    add(sim, "robot", 0.0)
    with page_of(sim) as page:
        page.send(click(0.0, 0.0))
        page.read_until(lambda: value(page, "Remove", "visible"))
        for answer, left in (("Keep it", 1), ("Remove it", 0)):
            page.controls.pop(answer, None)
            page.set("Remove", value=True)
            page.read_until(lambda answer=answer: answer in page.controls)
            page.set(answer, value=True)
            seen = sim.step_count
            page.read_until(lambda left=left, seen=seen: len(sim.agents) == left and sim.step_count > seen + 2)


class Taken:
    """Snapshots of a run, as what reads a file would give them."""

    def __init__(self, sim: Sim) -> None:
        self.taken: list[Snapshot] = []
        for _ in range(100):
            sim.step_once()
            self.taken.append(sim.snapshots.request().result())
        self.times = np.array([snapshot.time for snapshot in self.taken])

    def snapshot_at(self, time: float) -> Snapshot:
        return self.taken[int(np.searchsorted(self.times, time))]

    def close(self) -> None:
        """There is no file."""


def test_a_recording_has_no_times_of_steps_and_no_time_that_is_no_number(make_sim: Callable[..., Sim]) -> None:
    sim = make_sim()
    add(sim, "robot", 0.0)
    view: Any = view_of(RecordedSource(Taken(sim), "run", speed=0.05), ViewParams(port=0))
    try:
        with PageClient(view.url) as page:
            page.read_until(lambda: {"time", "speed"} <= page.controls.keys())
            page.set("time", value="nan")
            page.set("time", value=5.0)
            page.read_until(lambda: 5.0 < value(page, "time", "value") < 9.0)
            plots = {str(made["props"].get("title")): made["uuid"] for made in page.controls.values()}
            page.read_until(lambda: page.values.get(plots["moving robots"], {}).get("visible", True) is True)
            page.read_until(lambda: page.values.get(plots["step [ms]"], {}).get("visible") is False)
    finally:
        view.close()
