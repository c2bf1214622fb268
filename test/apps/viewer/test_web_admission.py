"""Who may see the live view: without the token, and from pages of other sites, nothing is answered."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from statistics import median
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from fleet_sim import ConfigError, InvalidValueError, MultiRobotSimulationCore

viser = pytest.importorskip("viser")
EVERYWHERE = "0.0.0.0"
STRANGER = "http://stranger.example"


@pytest.fixture(scope="module")
def views() -> Iterator[tuple[Any, Any]]:
    """A view for this machine, and one for others."""
    with MultiRobotSimulationCore.from_dict({"gui": False}) as sim:
        yield sim.view.show(port=0), sim.view.show(port=0, host=EVERYWHERE)


def status(url: str, **headers: str) -> int:
    try:
        with urlopen(Request(url, headers=headers)) as answer:
            return int(answer.status)
    except HTTPError as error:
        # It is an answer too: from Python 3.14 on, one that nobody closes is warned of.
        with error:
            return error.code


def speaks(url: str, origin: str | None = None) -> bool:
    """Whether a websocket is opened, and says something."""
    try:
        # As the page asks for it.
        with connect(url, origin=origin, subprotocols=[f"viser-v{viser.__version__}"]) as socket:  # type: ignore[arg-type,list-item]
            return bool(socket.recv(30.0))
    except InvalidStatus as error:
        if error.response.status_code != 403:
            raise
        return False


def test_the_token_is_needed_for_pages_and_for_websockets(views: tuple[Any, Any]) -> None:
    _, view = views
    parts = urlsplit(view.url)
    here, token = f"{parts.hostname}:{parts.port}", parts.path.strip("/")
    assert len(token) >= 20
    assert status(view.url) == status(f"http://{here}/{token}") == 200
    assert speaks(f"ws://{here}/{token}") and speaks(f"ws://{here}/{token}/", f"http://{here}")
    for wrong in ("", "/", "/index.html", f"/{token[:-1]}/", f"/{token}x/", f"/?{token}", f"/x/{token}/"):
        assert status(f"http://{here}{wrong}") == 403, wrong
        assert not speaks(f"ws://{here}{wrong}"), wrong


def test_without_a_token_only_pages_of_this_machine_are_answered(views: tuple[Any, Any]) -> None:
    view, _ = views
    here = urlsplit(view.url).netloc
    assert status(view.url) == 200 and speaks(f"ws://{here}")
    # What a browser says of a page of another site, and of a name of somebody else's that leads here.
    assert status(view.url, Origin=STRANGER) == status(view.url, Host="stranger.example") == 403
    assert not speaks(f"ws://{here}", STRANGER)


def test_pages_of_other_sites_are_refused_with_the_token_too(views: tuple[Any, Any]) -> None:
    _, view = views
    assert status(view.url, Origin=STRANGER) == 403
    assert not speaks(view.url.replace("http", "ws"), STRANGER)


def test_a_host_of_somebody_else_and_names_that_are_none_are_refused() -> None:
    with MultiRobotSimulationCore.from_dict({"gui": False}) as sim:
        for host in ("192.0.2.1", ".", "x" * 100_000, "\u202e"):
            with pytest.raises(InvalidValueError, match="no address of this machine") as caught:
                sim.view.show(host=host)
            assert len(str(caught.value)) < 1000
        with pytest.raises(ConfigError, match="port"):
            sim.view.show(port=70_000)


def test_viser_of_others_is_served_as_ever(views: tuple[Any, Any]) -> None:
    other = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        assert status(f"http://127.0.0.1:{other.get_port()}/", Origin=STRANGER) == 200
    finally:
        other.stop()


def test_connections_without_the_token_take_no_place_of_pages(views: tuple[Any, Any]) -> None:
    _, view = views
    place = urlsplit(view.url)
    silent = [socket.create_connection((place.hostname or "", place.port or 0)) for _ in range(260)]
    try:
        assert status(view.url) == 200 and speaks(view.url.replace("http", "ws"))
        # Of too many the oldest were dropped.
        silent[0].settimeout(30.0)
        with suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
    finally:
        for one in silent:
            one.close()


FLOOD = """
import socket, sys, time
place, kept, made, begin = ("127.0.0.1", int(sys.argv[1])), [], 0, time.monotonic()
while (now := time.monotonic() - begin) < 8.0:
    for _ in range(max(0, int(1000 * now) - made)):
        one = socket.create_connection(place, 5.0)
        made += 1
        if made % 2:
            one.sendall(b"GET /wrong HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
        kept.append(one)
        if len(kept) > 400:
            kept.pop(0).close()
    time.sleep(0.002)
print(made)
"""


@pytest.mark.slow
def test_in_a_flood_of_connections_who_has_the_token_is_answered(views: tuple[Any, Any]) -> None:
    _, view = views
    port = str(urlsplit(view.url).port)

    def wait() -> float:
        begin = time.monotonic()
        assert status(view.url) == 200
        return time.monotonic() - begin

    with subprocess.Popen([sys.executable, "-c", FLOOD, port], stdout=subprocess.PIPE, text=True) as flood:
        waits = []
        while flood.poll() is None:
            waits.append(wait())
            time.sleep(0.05)
        made = int(flood.communicate()[0])
    # A second on an idle machine; on a busy one the flood takes time from both.
    print(
        f"{made} connections in 8 s; the owner waited at most {max(waits):.3f} s, {median(waits):.3f} s in the middle"
    )
    assert made > 2000 and median(waits) < 1.0 and max(waits) < 5.0
