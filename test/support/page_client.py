"""A page of the live view without a browser: it says what pages say, and what they never do."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec.msgpack
import viser
import zstandard
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

CAMERA: dict[str, Any] = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [5.0, 5.0, 5.0],
    "fov": 1.0,
    "near": 0.1,
    "far": 100.0,
    "image_height": 600,
    "image_width": 800,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0.0, 0.0, 1.0],
}
PATIENCE = 30.0


def click(x: float, y: float) -> dict[str, Any]:
    """Return the click on a point of the floor, from above."""
    return {
        "type": "ScenePointerMessage",
        "event_type": "click",
        "ray_origin": [x, y, 5.0],
        "ray_direction": [0.0, 0.0, -1.0],
        "screen_pos": [[0.5, 0.5]],
        "modifier": None,
    }


class PageClient:
    """One page. `controls` are the messages that made its controls, by their labels."""

    def __init__(self, url: str, *, begin: bool = True) -> None:
        parts = urlsplit(url)
        version = f"viser-v{viser.__version__}"
        self._socket = connect(
            parts._replace(scheme="ws").geturl(), subprotocols=[version], max_size=None, ping_interval=None
        )  # type: ignore[list-item]
        self.controls: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        """What has been said of each control since, by its uuid."""
        self.updates = 0
        self.notifications: list[tuple[str, str]] = []
        self.eyes: list[tuple[float, ...]] = []
        """Where the page was told to look from, in m."""
        self.first_eye: tuple[float, ...] = ()
        """Where it begins, in m."""
        if begin:
            self.send(CAMERA)

    def __enter__(self) -> PageClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, message: object) -> None:
        """Send a message, as MessagePack; bytes and texts as they are."""
        raw = message if isinstance(message, (bytes, str)) else msgspec.msgpack.encode(message)
        self._socket.send(raw)

    def set(self, label: str, **updates: object) -> None:
        """Change a control, as a page does with `value=`."""
        self.send({"type": "GuiUpdateMessage", "uuid": self.controls[label]["uuid"], "updates": updates})

    def read_until(self, met: Callable[[], bool]) -> None:
        """Read what the server says until `met`; a KeyError says that a control is not there yet.

        Raises TimeoutError, and ConnectionClosed.
        """
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(KeyError):
                if met():
                    return
            self._note(self._socket.recv(max(0.0, end - time.monotonic())))

    def read_what_is_there(self) -> None:
        """Read what the server has said so far. Raises ConnectionClosed."""
        with suppress(TimeoutError):
            while True:
                self._note(self._socket.recv(0.0))

    def closed_for(self) -> str:
        """Wait until the server has closed the connection, and return why."""
        try:
            self.read_until(lambda: False)
        except ConnectionClosed as error:
            return error.rcvd.reason if error.rcvd else ""
        raise AssertionError("unreachable")

    def _note(self, raw: Any) -> None:
        size, packed = (int.from_bytes(raw[at : at + 8], "little") for at in (0, 8))
        inner = zstandard.ZstdDecompressor().decompress(raw[16 : 16 + packed], max_output_size=size)
        for message in msgspec.msgpack.decode(inner)["messages"]:
            if message["type"] == "GuiUpdateMessage":
                self.values.setdefault(message["uuid"], {}).update(message["updates"])
                self.updates += 1
            elif message["type"] == "NotificationShowMessage":
                self.notifications.append((message["props"]["title"], message["props"]["body"]))
            elif message["type"] == "SetCameraPositionMessage":
                if message["initial"]:
                    self.first_eye = tuple(message["position"])
                else:
                    self.eyes.append(tuple(message["position"]))
            elif "uuid" in message and "props" in message:
                self.controls[message["props"].get("label") or message["uuid"]] = message
