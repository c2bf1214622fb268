"""WebView: a page in the browser that shows a source, brought up to date by one thread."""

from __future__ import annotations

import html
import math
import os
import sys
import time
import webbrowser
from dataclasses import dataclass
from threading import Event, Lock, Thread

import numpy as np
import viser

from fleet_sim.apps.viewer.server import LOOPBACK, Admission, close_server, log, new_token, open_server
from fleet_sim.apps.viewer.source import Source
from fleet_sim.apps.viewer.stage import ViewStage
from fleet_sim.base.arrays import Floats
from fleet_sim.base.params import ViewParams
from fleet_sim.base.spatial import quaternions

LONGEST_STEP = 5.0
"""How long the first picture is waited for, in s; without it pages begin with a camera that knows nothing."""
PATIENCE = 0.5
"""How long one waits for a frame before one looks whether anybody still wants it, in s."""


@dataclass(frozen=True, eq=False)
class PageCamera:
    """From where a page looks: position (3,) in m, orientation (4,) wxyz with x right, y down and z ahead.

    `fov` is the vertical field of view in rad, `size` the width and height in pixels.
    """

    position: Floats
    wxyz: Floats
    fov: float
    size: tuple[int, int]

    def pixel_of(self, point: Floats) -> tuple[float, float]:
        """Return where on the page a point (3,) of the world is."""
        back = quaternions.conjugate(np.roll(self.wxyz, -1)[None])
        x, y, z = quaternions.rotate(back, (point - self.position)[None])[0].tolist()
        width, height = self.size
        focal = 0.5 * height / math.tan(0.5 * self.fov)
        return 0.5 * width + focal * x / z, 0.5 * height + focal * y / z


class WebView:
    """Shows `source` at `url` until it is closed. Without an open page nothing is asked of the source.

    One thread takes frames and brings the page up to date; those of the server send what changed. A page that cannot
    keep up gets the newest state when it is ready for it.
    """

    def __init__(self, source: Source, settings: ViewParams | None = None) -> None:
        """Serve the page. Raises InvalidValueError for a host that is not of this machine."""
        self.settings = settings = settings or ViewParams()
        self.source = source
        self._token = "" if settings.host in LOOPBACK else new_token()
        self._server = open_server(settings.host, settings.port, Admission(self._token), source.title)
        self._stage = ViewStage(self._server, source, settings)
        self._closed = Event()
        # Set while there is a page; guarded together with the pages that are counted.
        self._watched = Event()
        self._pages: set[int] = set()
        self._lock = Lock()
        # Before the first page: it begins with a camera that shows all there is.
        self._failed = False
        self._update(LONGEST_STEP)
        self._server.on_client_connect(self._came)
        self._server.on_client_disconnect(self._went)
        self._thread = Thread(target=self._run, name="fleet_sim view", daemon=True)
        self._thread.start()
        if settings.browser and has_display():
            webbrowser.open(self.url)

    # ---- for users ---------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The address of the page. One that other machines reach has a secret in it: who knows it may do everything."""
        host = self.settings.host
        # An address for everywhere is no address; on this machine it is this machine.
        name = "127.0.0.1" if host in ("0.0.0.0", "::") else host
        return f"http://{f'[{name}]' if ':' in name else name}:{self._server.get_port()}/" + (
            f"{self._token}/" if self._token else ""
        )

    @property
    def pages(self) -> int:
        """How many pages are open."""
        return len(self._pages)

    @property
    def cameras(self) -> list[PageCamera]:
        """From where each page looks."""
        handles = [client.camera for client in self._server.get_clients().values()]
        return [
            PageCamera(
                np.array(camera.position), np.array(camera.wxyz), camera.fov, (camera.image_width, camera.image_height)
            )
            for camera in handles
        ]

    def close(self) -> None:
        """End the page and its threads; may be called again."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._watched.set()
        self.source.close()
        close_server(self._server)
        self._stage.close()
        self._thread.join(PATIENCE)

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return f'<iframe src="{html.escape(self.url, quote=True)}" width="100%" height="600" frameborder="0"></iframe>'

    # ---- pages -------------------------------------------------------------------------------------------------------

    def _came(self, client: viser.ClientHandle) -> None:
        with self._lock:
            self._pages.add(client.client_id)
            self._watched.set()
        self._stage.page_came(client)

    def _went(self, client: viser.ClientHandle) -> None:
        self._stage.page_went(client)
        with self._lock:
            self._pages.discard(client.client_id)
            if not self._pages and not self._closed.is_set():
                self._watched.clear()

    # ---- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            self._watched.wait()
            if self._closed.is_set():
                return
            begin = time.perf_counter()
            self._update(PATIENCE)
            self._closed.wait(max(0.0, begin + 1.0 / self.settings.rate - time.perf_counter()))

    def _update(self, patience: float) -> None:
        try:
            frame = self.source.frame(self._stage.wanted(), patience)
            if frame is not None and not self._closed.is_set():
                with self._server.atomic():
                    self._stage.show(frame)
        except Exception:
            # What is wrong with one picture, such as a mesh that is gone, must not end the view.
            if not self._failed:
                log.exception("the view could not be brought up to date; it tries again, and says so no more")
            self._failed = True


def has_display() -> bool:
    """Return whether a browser would be seen by somebody."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
