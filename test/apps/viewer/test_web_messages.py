"""What anybody may write to the live view: it ends his own connection at most."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from importlib.metadata import version
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import until

from fleet_sim import MultiRobotSimulationCore

pytest.importorskip("viser")
from page_client import CAMERA, PATIENCE, PageClient, click

from fleet_sim.apps.viewer.server import BURST, MOST_PAGES, LoopEvent

# Here pages go while something is said to them.
pytestmark = pytest.mark.filterwarnings("ignore:Queued a .* on a closed connection:UserWarning")

NAN = float("nan")
ROBOT = {"name": "robot", "pose": [0.0, 0.0, 0.15], "shape": {"shape_type": "box", "half_extents": [0.3, 0.3, 0.15]}}
Running = tuple[MultiRobotSimulationCore, Any, Any]


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """A simulation that runs, a view of it in which one acts, and one that is read only."""
    with MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "robots": [ROBOT]}) as sim:
        view = sim.view.show(port=0)
        with MultiRobotSimulationCore.from_dict({"simulation": {"gui": False}, "robots": [ROBOT]}) as other:
            closed = other.view.show(port=0, read_only=True)
            threads = [Thread(target=one.run_simulation) for one in (sim, other)]
            for thread in threads:
                thread.start()
            yield sim, view, closed
            for one in (sim, other):
                one.stop()
            for thread in threads:
                thread.join(PATIENCE)


@pytest.fixture
def page(running: Running) -> Iterator[PageClient]:
    """A page that has its controls."""
    with PageClient(running[1].url) as page:
        page.read_until(lambda: {"colors", "speed", "Stop"} <= page.controls.keys())
        yield page


def goes_on(page: PageClient) -> None:
    """Wait for a frame that was shown after what has happened so far."""
    seen = page.updates
    page.read_until(lambda: page.updates > seen + 3)


def hostile(uuid: str) -> dict[str, object]:
    """Return what a page of viser never sends, by names."""
    update = {"type": "GuiUpdateMessage", "uuid": uuid}
    upload = {"filename": "f", "mime_type": "x", "part_count": 9, "size_bytes": 10**12}
    return {
        "no MessagePack": b"\xc1",
        "nested too deep": b"\x91" * 10_000,
        "a text": "hello",
        "a number": 5,
        "no type": {},
        "a type of type": {"type": ["GuiUpdateMessage"]},
        "no message": {"type": "Nothing"},
        "to be published": {"type": "ShareUrlRequest"},
        "a message of the server": {"type": "SetCameraFovMessage", "fov": 1.0},
        "a file": {"type": "FileTransferStartUpload", "source_component_uuid": uuid, "transfer_uuid": "a", **upload},
        "a long message": {**update, "updates": {"value": "x" * 100_000}},
        "a long text": {**update, "updates": {"value": "x" * 1_000}},
        "a function of the server": {**update, "updates": {"sync_cb": "x"}},
        "a control that is gone": {**update, "updates": {"value": True, "removed": True}},
        "no value": {**update, "updates": {}},
        "a list": {**update, "updates": {"value": [1, 2]}},
        "no number": {**update, "updates": {"value": NAN}},
        "fields that are not there": {**CAMERA, "x": 1},
        "fields that are missing": {"type": "ViewerCameraMessage", "fov": 1.0},
        "a camera nowhere": {**CAMERA, "position": [NAN, 0.0, 0.0]},
        "a camera far away": {**CAMERA, "position": [1e300, 0.0, 0.0]},
        "a camera of texts": {**CAMERA, "position": ["a", "b", "c"]},
        "a flat camera": {**CAMERA, "wxyz": [0.0, 0.0, 0.0, 0.0]},
        "a picture without size": {**CAMERA, "image_width": -1},
        "a click that goes nowhere": {**click(0.0, 0.0), "ray_direction": [0.0, 0.0, 0.0]},
        "a click from nowhere": {**click(0.0, 0.0), "ray_origin": None},
        "a number beyond all": {**update, "updates": {"value": 2**63}},
    }


def test_what_no_page_sends_ends_its_own_connection_only(running: Running, page: PageClient) -> None:
    for name, message in hostile(page.controls["colors"]["uuid"]).items():
        with PageClient(running[1].url) as stranger:
            stranger.send(message)
            assert stranger.closed_for(), name
    # By steps: frames of before may still wait to be read.
    before = running[0].step_count
    page.read_until(lambda: running[0].step_count > before)
    goes_on(page)


def test_a_choice_that_is_none_changes_nothing(
    running: Running, page: PageClient, caplog: pytest.LogCaptureFixture
) -> None:
    speed = running[0].params.target_rtf
    with caplog.at_level(logging.INFO, "fleet_sim.apps.viewer"):
        page.set("colors", value="nothing of this kind")
        page.set("speed", value="as fast as light")
        page.set("names", value="no, thank you")
        goes_on(page)
    assert not caplog.records
    assert running[0].params.target_rtf == speed
    page.set("colors", value="state")
    goes_on(page)


def test_a_click_reaches_the_robot(running: Running, page: PageClient) -> None:
    sim = running[0]
    page.send(click(0.0, 0.0))
    page.read_until(lambda: any("**robot**" in str(value.get("_markdown")) for value in page.values.values()))
    page.send(click(1.0, 0.5))
    page.read_until(lambda: sim.agents[0].get_pose().x > 0.2)
    page.set("Stop", value=True)


def test_a_view_that_is_read_only_has_no_button_that_acts(running: Running) -> None:
    with PageClient(running[2].url) as page:
        page.read_until(lambda: {"colors", "Deselect"} <= page.controls.keys())
        assert not {"Stop", "Remove", "Pause", "Step", "Reset", "Add in the middle"} & page.controls.keys()
        page.send(click(0.0, 0.0))
        page.read_until(lambda: any("**robot**" in str(value.get("_markdown")) for value in page.values.values()))
        page.send(click(1.0, 0.5))
        goes_on(page)
        assert not [value for value in page.values.values() if "refused" in str(value)]


def answer_to(url: str, request: bytes) -> bytes:
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), PATIENCE) as connection:
        connection.sendall(request.replace(b"HERE", place.netloc.encode()))
        return connection.recv(100).partition(b"\r\n")[0]


def test_requests_of_every_kind_are_answered(running: Running, caplog: pytest.LogCaptureFixture) -> None:
    requests = {
        b"GET / HTTP/1.1\r\nHost: HERE\r\n\r\n": b"200",
        b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: HERE\r\n\r\n": b"404",
        b"GET /%00 HTTP/1.1\r\nHost: HERE\r\n\r\n": b"404",
        b"GET /../../../etc/passwd HTTP/1.1\r\nHost: HERE\r\n\r\n": b"404",
        b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: HERE\r\n\r\n": b"404",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: HERE\r\n\r\n": b"404",
        b"GET / HTTP/1.1\r\nHost: HERE\r\nHost: elsewhere\r\n\r\n": b"403",
        b"GET / HTTP/1.1\r\nHost: HERE\r\nOrigin: http://[\r\n\r\n": b"403",
        b"GET / HTTP/1.1\r\nHost: HERE\r\nUpgrade: websocket\r\n\r\n": b"403",
        b"\x00\x01\x02\r\n\r\n": b"",
    }
    with caplog.at_level(logging.INFO):
        for request, code in requests.items():
            answer = answer_to(running[1].url, request)
            assert answer.split(b" ")[1:2] == ([code] if code else []), (request[:60], answer)
    assert not caplog.records


def test_more_pages_than_there_may_be_are_refused(running: Running, page: PageClient) -> None:
    place = urlsplit(running[1].url)
    asks = (
        f"GET / HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"Sec-WebSocket-Protocol: viser-v{version('viser')}\r\n\r\n"
    )
    pages = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(MOST_PAGES)]
    try:
        # All at once: the server waits only some seconds for what a page says next.
        for one in pages:
            one.sendall(asks.encode())
        for one in pages:
            one.recv(12)
        assert b" 503 " in answer_to(running[1].url, b"GET / HTTP/1.1\r\nHost: HERE\r\n\r\n")
        goes_on(page)
    finally:
        for connection in pages:
            connection.close()
    until(lambda: running[1].pages <= 1, "the server has forgotten them")


def test_a_flood_of_messages_is_read_at_the_pace_of_a_page(running: Running, page: PageClient) -> None:
    with PageClient(running[1].url) as flood:
        for _ in range(int(1.2 * BURST)):
            flood.send(click(50.0, 50.0))
        goes_on(page)
        goes_on(flood)


def test_threads_leave_it_to_the_loop_to_wake_pages(running: Running) -> None:
    async def waits() -> None:
        event = LoopEvent()
        waiting = asyncio.ensure_future(event.wait())
        await asyncio.sleep(0)
        await asyncio.to_thread(event.set)
        assert not event.is_set()
        event.set()
        assert await waiting

    asyncio.run(waits())
    # What is said to all pages, and what to one.
    server = running[1]._server
    with PageClient(running[1].url) as page:
        page.read_until(lambda: page.updates > 0)
        buffers = [client._websock_connection.get_message_buffer() for client in server.get_clients().values()]
        for buffer in (server._websock_server.get_message_buffer(), *buffers):
            assert isinstance(buffer.message_event, LoopEvent)
