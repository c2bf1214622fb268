"""The live view in a real browser: what is on the page, and what clicks do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from chromium import Browser, Page, until
from crowds import Crowd
from networks import HALL, site_of
from painted import textured_quad
from view_pages import color_at, opened, pixel, select, sole_page

from fleet_sim import (
    AgentSpawnParams,
    MultiRobotSimulationCore,
    Pose,
    ShapeParams,
    SimObjectSpawnParams,
    SimulationParams,
)

pytest.importorskip("viser")
from fleet_sim.apps.viewer.live import RecordedSource
from fleet_sim.base.params import ViewParams

pytestmark = pytest.mark.slow

RED = (0.85, 0.1, 0.1, 1.0)


@pytest.fixture(scope="module")
def running() -> Iterator[MultiRobotSimulationCore]:
    """A simulation that runs in another thread: two robots of which one is red."""
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.05, target_rtf=1.0))
    for name, y, rgba in (("red", 0.0, RED), ("blue", 3.0, (0.1, 0.3, 0.9, 1.0))):
        box = ShapeParams("box", half_extents=(0.5, 0.4, 0.3), rgba_color=rgba)
        params = AgentSpawnParams(box, box, Pose.from_xyz(0.0, y, 0.3), name=name, motion_mode="omnidirectional")
        params.max_linear_vel = 4.0
        sim.spawn(params)
    thread = Thread(target=sim.run_simulation)
    thread.start()
    yield sim
    sim.stop()
    thread.join()
    sim.close()


@pytest.fixture
def view(running: MultiRobotSimulationCore) -> Iterator[Any]:
    """A view of it, as it was at the beginning."""
    running.control.resume()
    running.between_steps(running.reset).result()
    view = running.view.show(port=0)
    yield view
    view.close()


@pytest.fixture
def page(browser: Browser, view: Any) -> Iterator[Page]:
    """A page on which everything is shown."""
    page = opened(browser, view)
    page.shows("2 robots")
    yield page
    page.close()


def test_robots_are_where_the_simulation_says_and_a_click_sends_one(
    page: Page, view: Any, running: MultiRobotSimulationCore
) -> None:
    robot = next(agent for agent in running.agents if agent.name == "red")

    def is_red() -> bool:
        red, green, blue = color_at(page, *pixel(view, 0.0, 0.0, 0.5))
        return red > 2 * max(green, blue)

    until(is_red, "the red robot is drawn where it is")
    select(page, view, "red", 0.0, 0.0, 0.5)
    page.shows("Click the floor to send it there")
    page.click(*pixel(view, -2.0, 1.0, 0.0))
    until(lambda: np.hypot(robot.get_pose().x + 2.0, robot.get_pose().y - 1.0) < 0.1, "the robot arrives")
    # One goal after the other: the queue. A click on the robot itself would select it, so it has to be away.
    page.click(*pixel(view, -1.0, 0.0, 0.0))
    until(lambda: np.hypot(robot.get_pose().x + 1.0, robot.get_pose().y) < 0.1, "it goes to the first")
    page.click(*pixel(view, -2.0, 1.0, 0.0), shift=True)
    until(lambda: np.hypot(robot.get_pose().x + 2.0, robot.get_pose().y - 1.0) < 0.1, "and then to the second")
    assert page.errors == []


def test_a_click_on_an_upper_floor_is_where_it_looks(browser: Browser) -> None:
    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
        box = ShapeParams("box", half_extents=(0.5, 0.4, 0.3), rgba_color=RED)
        sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(0.0, 0.0, 3.3), name="upper", motion_mode="omnidirectional"))
        # Seen through the floor above it.
        below = sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(4.0, 5.0, 0.3), name="lower"))
        goals: list[list[float]] = []
        sim.inbox.on_apply.append(lambda command: goals.append(command.actions[0]["target_pose"][:3]))
        view: Any = sim.view.show(port=0)
        page = opened(browser, view)
        try:
            select(page, view, "upper", 0.0, 0.0, 3.5)
            page.click(*pixel(view, 0.5, 1.5, 3.0))
            until(lambda: goals or sim.step_once(), "it is sent")
            assert goals[0] == pytest.approx([0.5, 1.5, 3.3], abs=0.05)
            assert below.get_pose().z == pytest.approx(0.3) and page.errors == []
        finally:
            page.close()
            view.close()


def test_the_planned_path_of_a_robot_is_drawn_and_its_load_stands_for_it(browser: Browser) -> None:
    crowd = Crowd(site_of(HALL), 1, at=np.array([(0.5, 0.5), (0.5, 0.5)]), window=40)
    sim, agent = crowd.sim, crowd.agents[0]
    box = ShapeParams("box", half_extents=(0.4, 0.4, 0.2), rgba_color=RED)
    load = sim.spawn(SimObjectSpawnParams(box, box, Pose.from_xyz(0.5, 0.5, 0.7), name="load"))
    agent.attach_object(load, relative_pose=Pose.from_xyz(0.0, 0.0, 0.6))
    crowd.traffic.send(agent, (9.5, 5.5))
    for _ in range(5):
        sim.step_once()
    paths = crowd.traffic.planned.paths_of(crowd.traffic.rows)
    middle = 0.5 * (agent.get_pose().position + paths.positions[int(paths.nexts[0])])
    sim.pause()
    thread = Thread(target=sim.run_simulation)
    thread.start()
    try:
        view = sim.view.show(port=0)
        page = opened(browser, view)
        page.press("paths")

        def is_green() -> bool:
            red, green, blue = color_at(page, *pixel(view, middle[0], middle[1], 0.04))
            return green > red + 40 and green > blue + 20

        assert not is_green()
        # Two clicks on the load: the second one does not take the selection away from the robot.
        for _ in range(2):
            select(page, view, "amr_0", *load.get_pose().position)
        assert "of them granted" in page.text()
        until(is_green, "the path of the selected robot is drawn")
        assert page.errors == []
        page.close()
    finally:
        sim.stop()
        thread.join()
        sim.close()


def test_clicks_all_arrive_while_the_page_has_no_time(page: Page, view: Any, running: MultiRobotSimulationCore) -> None:
    select(page, view, "red", 0.0, 0.0, 0.5)
    page.shows("Click the floor to send it there")
    goals: list[tuple[float, float, bool]] = []

    def applied(command: Any) -> None:
        x, y = command.actions[0]["target_pose"][:2]
        goals.append((round(x, 1), round(y, 1), not command.replace))

    running.inbox.on_apply.append(applied)
    clicks = [(-1.0, 0.3, False), (-1.5, 0.6, True), (-2.0, 1.0, True)]
    try:
        page.click_at_once([(*pixel(view, x, y, 0.0), shift) for x, y, shift in clicks])
        until(lambda: len(goals) >= 3, "all three goals are applied")
    finally:
        running.inbox.on_apply.remove(applied)
    assert goals == clicks and page.errors == []


def test_plots_are_drawn_as_the_run_goes_on(page: Page) -> None:
    page.open_folder("Plots")
    drawn = (
        "[...document.querySelectorAll('.uplot canvas')].map(c => c.width && c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data.reduce((sum, value) => sum + value, 0))"
    )
    # Deliveries have no plot here: there are none.
    first = until(lambda: len(sums := page.run(drawn)) == 3 and min(sums) > 0 and sums, "three plots are drawn")
    until(lambda: page.run(drawn) != first, "they go on")
    assert "real-time factor" in page.text() and "deliveries" not in page.text() and page.errors == []


def test_a_robot_is_dragged_to_another_place(page: Page, view: Any, running: MultiRobotSimulationCore) -> None:
    robot = next(agent for agent in running.agents if agent.name == "red")
    select(page, view, "red", 0.0, 0.0, 0.5)
    page.press("move by hand")
    tip = pixel(view, 0.0, 1.1, 0.3)

    def is_held_out() -> bool:
        # The arrow along y is yellow while the mouse is over it, and only what listens can become so.
        page.point_at(*tip)
        red, green, blue = color_at(page, *tip)
        return min(red, green) > 170 and blue < 0.75 * min(red, green)

    until(is_held_out, "the arrow can be taken")
    page.drag(tip, pixel(view, 0.0, 1.9, 0.3))
    until(lambda: abs(robot.get_pose().y - 0.8) < 0.2, "the robot is dragged")
    where = robot.get_pose()
    assert abs(where.x) < 0.01 and abs(where.z - 0.3) < 0.01
    assert not robot.is_moving and page.errors == []


def test_textures_are_on_the_page_until_a_color_tells_more(browser: Browser, tmp_path: Path) -> None:
    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
        quad = ShapeParams("mesh", mesh_path=str(textured_quad(tmp_path)))
        box = ShapeParams("box", half_extents=(1.0, 1.0, 0.1))
        sim.spawn(AgentSpawnParams(quad, box, Pose.from_xyz(0.0, 0.0, 0.1), name="painted"))
        other = sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(0.0, 4.0, 0.1), name="other"))
        view: Any = sim.view.show(port=0)
        with sole_page(browser, view) as page:
            page.shows("2 robots")

            def strongest(x: float, y: float) -> int:
                return int(np.argmax(color_at(page, *pixel(view, x, y, 0.1))))

            corners = ((-0.5, -0.5), (0.5, -0.5), (0.0, 0.5))
            until(lambda: [strongest(*corner) for corner in corners] == [0, 1, 2], "the texture is drawn")
            other.set_pose(Pose.from_xyz(0.0, 1.9, 0.1))
            sim.step_once()
            until(lambda: [strongest(*corner) for corner in corners] == [0, 0, 0], "what collides is red")
            other.set_pose(Pose.from_xyz(0.0, 4.0, 0.1))
            sim.step_once()
            until(lambda: [strongest(*corner) for corner in corners] == [0, 1, 2], "it has its texture again")


def test_a_recording_is_scrubbed_and_reloaded(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    from fleet_sim.apps.record.recording import Recording
    from fleet_sim.apps.viewer import view_of

    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
        box = ShapeParams("box", half_extents=(0.5, 0.4, 0.3), rgba_color=RED)
        robot = sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(0.0, 0.0, 0.3), name="red"))
        robot.set_velocity(vx=0.5)
        with sim.record(tmp_path / "run.mcap"):
            sim.run_simulation(8.0)
    with Recording(tmp_path / "run.mcap") as recording:
        source = RecordedSource(recording, "run", paused=True)
        view: Any = view_of(source, ViewParams(port=0, browser=False))
        with sole_page(browser, view) as page:
            page.shows("0.0 s")
            # A slider takes keys when it has the focus, which is how a test says exactly where.
            page.wait_for("!!document.querySelector('[role=slider]')")
            for key, shown in (("End", "8.0 s"), ("Home", "0.0 s"), ("End", "8.0 s")):
                page.run("document.querySelector('[role=slider]').focus()")
                page.press_key(key)
                page.shows(shown)
            assert "1 robot, " in page.text()
            x, y = pixel(view, 4.0, 0.0, 0.6)
            until(lambda: color_at(page, x, y)[0] > 2 * color_at(page, x, y)[2], "it is drawn where it was then")
            page.reload()
            page.shows("8.0 s")
            # From its end it begins again, at the speed that is chosen.
            source.set_speed(0.25)
            page.press("Resume")
            # What the page shows is measured, and near to that speed.
            until(lambda: bool(re.search(r"\b0\.[123]\d*x", page.text())), "it plays at a quarter of its speed")
            until(lambda: "8.0 s" not in page.text(), "it plays")


def test_pause_step_and_reset(page: Page, running: MultiRobotSimulationCore) -> None:
    page.press("Pause")
    until(lambda: running.control.is_paused, "it pauses")
    page.shows("paused")
    # On a line of its own, whatever it says: buttons below that move would not be hit by a second click.
    until(lambda: re.search(r"\d s · paused\n+2 robots, \d moving\n", page.text()), "the status has two lines")
    before = running.step_count
    page.press("Step")
    until(lambda: running.step_count == before + 1, "one step")
    page.press("Resume")
    until(lambda: not running.control.is_paused, "it goes on")
    tick = running.step_count
    until(lambda: running.step_count > tick, "steps are made")
    resets: list[bool] = []
    note = lambda: resets.append(True)  # noqa: E731  on and off need the same object
    running.events.on("reset", note)
    page.press("Reset")
    until(lambda: resets, "it begins again")
    running.events.off("reset", note)
    assert page.errors == []


def test_reload_and_two_pages_with_selections_of_their_own(browser: Browser, page: Page, view: Any) -> None:
    page.reload()
    page.shows("2 robots")
    until(lambda: view.pages == 1, "the server has forgotten what was there before")
    second = opened(browser, view)
    second.shows("2 robots")
    select(page, view, "red", 0.0, 0.0, 0.5)
    select(second, view, "blue", 0.0, 3.0, 0.5)
    assert "blue" not in page.text() and "red" not in second.text()
    second.close()
    until(lambda: view.pages == 1, "one page is left")
    assert page.errors == [] and second.errors == []


def test_the_server_goes_away_and_comes_back(page: Page, view: Any, running: MultiRobotSimulationCore) -> None:
    port = urlsplit(view.url).port
    view.close()
    again = running.view.show(port=port)
    since = running.sim_time
    try:
        until(lambda: again.pages == 1, "the page finds the new server by itself")
        # A time after that comes from the new server, and so do the buttons, which it sent before.
        until(lambda: (found := re.search(r"([\d.]+) s ·", page.text())) and float(found[1]) > since, "time goes on")
        assert "2 robots" in page.text()
        page.press("Pause")
        until(lambda: running.control.is_paused, "it acts on the new one")
    finally:
        again.close()


def test_a_page_that_may_only_look_selects_but_sends_nobody(
    browser: Browser, running: MultiRobotSimulationCore
) -> None:
    running.control.resume()
    running.between_steps(running.reset).result()
    commands: list[Any] = []
    running.inbox.on_apply.append(commands.append)
    view: Any = running.view.show(port=0, read_only=True)
    page = opened(browser, view)
    try:
        page.shows("2 robots")
        select(page, view, "red", 0.0, 0.0, 0.5)
        page.click(*pixel(view, -2.0, 1.0, 0.0))
        assert not [label for label in ("Pause", "Reset", "Remove", "Add") if label in page.text()]
        # What a second click on a robot shows came after the click on the floor.
        select(page, view, "blue", 0.0, 3.0, 0.5)
        assert commands == []
    finally:
        running.inbox.on_apply.remove(commands.append)
        page.close()
        view.close()
