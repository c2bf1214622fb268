"""The live view in a real browser: what is on the page, and what clicks do."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
import system_packages
from chromium import Browser, Page, until

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams

pytest.importorskip("viser")
from fleet_sim.config.view_params import ViewParams
from fleet_sim.viewer.web.recorded import RecordedSource

pytestmark = pytest.mark.slow

PORT = 18_450
RED = (0.85, 0.1, 0.1, 1.0)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    system_packages.need_commands("chromium")
    program = shutil.which("chromium")
    assert program is not None
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


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
    view = running.view.show(port=PORT)
    yield view
    view.close()


@pytest.fixture
def page(browser: Browser, view: Any) -> Iterator[Page]:
    """A page on which everything is shown."""
    page = browser.open(view.url)
    page.shows("2 robots")
    yield page
    page.close()


def pixel(view: Any, *point: float) -> tuple[float, float]:
    x, y = view.cameras[0].pixel_of(np.array(point))
    return float(x), float(y)


def select(page: Page, view: Any, name: str, *point: float) -> None:
    """Click a robot until it is selected: a page that has just come may not listen yet."""

    def selected() -> bool:
        page.click(*pixel(view, *point))
        return name in page.text()

    until(selected, f"{name} is selected")


def colour_at(page: Page, x: float, y: float) -> tuple[int, int, int]:
    from PIL import Image

    return Image.open(BytesIO(page.picture())).convert("RGB").getpixel((round(x), round(y)))


def test_robots_are_where_the_simulation_says_and_a_click_sends_one(
    page: Page, view: Any, running: MultiRobotSimulationCore
) -> None:
    robot = next(agent for agent in running.agents if agent.name == "red")

    def is_red() -> bool:
        red, green, blue = colour_at(page, *pixel(view, 0.0, 0.0, 0.5))
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

    def is_elsewhere() -> bool:
        # By the arrow along y or the square beside it, whichever the pointer meets, some frames later.
        page.drag(pixel(view, 0.0, 1.1, 0.3), pixel(view, 0.0, 1.9, 0.3))
        return robot.get_pose().y > 0.4

    until(is_elsewhere, "the robot is dragged")
    where = robot.get_pose()
    assert abs(where.x) < 0.5 and abs(where.z - 0.3) < 0.05
    assert not robot.is_moving and page.errors == []


def test_a_recording_is_scrubbed_and_reloaded(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    from fleet_sim.record.recording import Recording
    from fleet_sim.viewer.web.opening import view_of

    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
        box = ShapeParams("box", half_extents=(0.5, 0.4, 0.3), rgba_color=RED)
        robot = sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(0.0, 0.0, 0.3), name="red"))
        robot.set_velocity(vx=0.5)
        with sim.record(tmp_path / "run.mcap"):
            sim.run_simulation(8.0)
    with Recording(tmp_path / "run.mcap") as recording:
        source = RecordedSource(recording, "run", paused=True)
        view: Any = view_of(source, ViewParams(port=0, browser=False))
        page = browser.open(view.url)
        try:
            page.shows("0.0 s")
            # A slider takes keys when it has the focus, which is how a test says exactly where.
            page.wait_for("!!document.querySelector('[role=slider]')")
            for key, shown in (("End", "8.0 s"), ("Home", "0.0 s"), ("End", "8.0 s")):
                page.run("document.querySelector('[role=slider]').focus()")
                page.press_key(key)
                page.shows(shown)
            assert "1 robots" in page.text()
            x, y = pixel(view, 4.0, 0.0, 0.6)
            until(lambda: colour_at(page, x, y)[0] > 2 * colour_at(page, x, y)[2], "it is drawn where it was then")
            page.reload()
            page.shows("8.0 s")
            # From its end it begins again, at the speed that is chosen.
            source.set_speed(0.25)
            page.press("Go on")
            # What the page shows is measured, and near to that speed.
            until(lambda: bool(re.search(r"\b0\.[123]\d*x", page.text())), "it plays at a quarter of its speed")
            until(lambda: "8.0 s" not in page.text(), "it plays")
            assert page.errors == []
        finally:
            page.close()
            view.close()


def test_pause_step_and_reset(page: Page, running: MultiRobotSimulationCore) -> None:
    page.press("Pause")
    until(lambda: running.control.is_paused, "it pauses")
    page.shows("paused")
    before = running.step_count
    page.press("Step")
    until(lambda: running.step_count == before + 1, "one step")
    page.press("Go on")
    until(lambda: not running.control.is_paused, "it goes on")
    tick = running.step_count
    until(lambda: running.step_count > tick, "steps are made")
    page.press("Reset")
    until(lambda: running.step_count < tick, "it begins again")
    assert page.errors == []


def test_reload_and_two_pages_with_selections_of_their_own(browser: Browser, page: Page, view: Any) -> None:
    page.reload()
    page.shows("2 robots")
    second = browser.open(view.url)
    second.shows("2 robots")
    until(lambda: view.pages == 2, "two pages")
    select(page, view, "red", 0.0, 0.0, 0.5)
    select(second, view, "blue", 0.0, 3.0, 0.5)
    assert "blue" not in page.text() and "red" not in second.text()
    second.close()
    until(lambda: view.pages == 1, "one page is left")
    assert page.errors == [] and second.errors == []


def test_the_server_goes_away_and_comes_back(page: Page, view: Any, running: MultiRobotSimulationCore) -> None:
    view.close()
    again = running.view.show(port=PORT)
    try:
        until(lambda: again.pages == 1, "the page finds the new server by itself")
        page.shows("2 robots")
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
    page = browser.open(view.url)
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
