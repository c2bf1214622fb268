"""Links that keep a view, going back to states that were kept, and plots of columns of what is selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams

pytest.importorskip("viser")
from chromium import Browser
from page_client import PageClient

from fleet_sim.apps.viewer import live
from fleet_sim.apps.viewer.live import LiveSource
from fleet_sim.apps.viewer.panel import columns_of
from fleet_sim.apps.viewer.session import ViewLink
from fleet_sim.apps.viewer.source import Wanted

pytestmark = pytest.mark.filterwarnings("ignore:Queued a .* on a closed connection:UserWarning")

BOX = ShapeParams("box", half_extents=(0.3, 0.3, 0.15))


def simulation() -> MultiRobotSimulationCore:
    sim = MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0))
    for number in range(2):
        pose = Pose.from_xyz(2.0 * number, 0.7, 0.15)
        robot = sim.spawn(AgentSpawnParams(BOX, BOX, pose, name=f"cart {number}", motion_mode="differential"))
        robot.set_velocity(vx=0.5, wz=0.3, timeout=0.0)
    return sim


@pytest.mark.parametrize(
    "link",
    [
        ViewLink(),
        ViewLink((1.5, -2.0, 3.25), (0.0, 1.0, 0.0)),
        ViewLink(selected="a&b=c #é/1", time=12.5),
        ViewLink((1.0, 2.0, 3.0), (0.0, 0.0, 0.5), "cart_1", 0.0),
    ],
)
def test_a_link_keeps_what_it_was_made_of(link: ViewLink) -> None:
    assert ViewLink.parse(link.text()) == link
    assert link.text().isascii() and " " not in link.text()


@pytest.mark.parametrize(
    "text",
    [
        "eye=1,2,3",
        "eye=1,2,3&target=1,2",
        "eye=1,2,3&target=1,2,3",
        "eye=nan,2,3&target=0,0,0",
        "eye=1e9,2,3&target=0,0,0",
        "time=inf",
        "time=1,2",
        "eye=x&time=",
        "a=1&" * 5000,
    ],
)
def test_what_a_link_cannot_mean_is_left_out(text: str) -> None:
    assert ViewLink.parse(text) == ViewLink()


def test_a_page_opens_with_what_its_link_kept() -> None:
    link = ViewLink((3.0, -4.0, 5.0), (1.0, 0.5, 0.0), "cart 1")
    with simulation() as sim:
        view: Any = sim.view.show(port=0)
        with PageClient(f"{view.url}?{link.text()}") as page:
            page.read_until(lambda: bool(page.eyes) and any("cart 1" in str(told) for told in page.values.values()))
            assert page.eyes[-1] == pytest.approx(link.eye)
            page.set("Link", value=True)
            page.read_until(lambda: "address" in page.controls)
            assert page.controls["address"]["value"].endswith("selected=cart%201")


@pytest.mark.slow
def test_a_browser_sends_what_is_behind_the_address(browser: Browser) -> None:
    link = ViewLink((3.0, -4.0, 5.0), (1.0, 0.5, 0.0), "cart 1")
    with simulation() as sim:
        view: Any = sim.view.show(port=0)
        page = browser.open(f"{view.url}#{link.text()}")
        page.wait_for("!!document.body && document.body.innerText.includes('cart 1')")
        assert page.run("location.hash") == f"#{link.text()}" and page.errors == []
        assert view.cameras[0].position == pytest.approx(np.array(link.eye), abs=0.01)
        page.close()


def test_going_back_ends_in_a_state_that_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "SHORTEST_WAIT", 0.0)
    hashes: dict[int, str] = {}
    with simulation() as sim:
        source = LiveSource(sim)
        for _ in range(250):
            hashes[sim.step_count] = sim.state_hash()
            assert source.frame(Wanted(checkpoints=True), 1.0) is not None
            sim.step_once()
        for latest in (200, 100, 0):
            source.rewind()
            assert sim.control.is_paused
            sim.resume()
            sim.step_once()
            # The command is applied before the step.
            assert latest <= sim.step_count <= latest + 3 and hashes[sim.step_count] == sim.state_hash()
            source.frame(Wanted(checkpoints=True), 1.0)
        source.close()


def test_keeping_states_is_no_command_and_what_only_looks_keeps_none() -> None:
    with simulation() as sim:
        kept: list[str] = []
        sim.events.on("fleet_command", lambda command: kept.append(type(command).__name__))
        source = LiveSource(sim)
        for _ in range(30):
            source.frame(Wanted(checkpoints=True), 1.0)
            sim.step_once()
        assert kept == []
        watched = LiveSource(sim)
        for _ in range(30):
            watched.frame(Wanted(), 1.0)
            sim.step_once()
        watched.rewind()
        sim.step_once()
        assert sim.step_count == 61 and kept == [] and not sim.control.is_paused
        source.close()
        watched.close()


def test_columns_of_an_entity_are_its_numbers() -> None:
    with simulation() as sim:
        sim.step_once()
        snapshot, robot = sim.snapshots.take(), sim.get_object("cart 1")
        columns = columns_of(snapshot, snapshot.index_of("cart 1"))
        assert [columns[f"{axis} [m]"] for axis in "xyz"] == list(robot.get_pose().position)
        assert columns["speed [m/s]"] == pytest.approx(float(np.linalg.norm(robot.velocity)))
        assert columns["turn [deg/s]"] == pytest.approx(np.degrees(robot.angular_velocity))
