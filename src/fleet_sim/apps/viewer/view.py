"""WebView: a page in the browser that shows a source, and the server that admits, reads and answers its pages."""

from __future__ import annotations

import asyncio
import gzip
import hmac
import html
import http
import logging
import math
import os
import secrets
import socket
import sys
import time
import warnings
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Event, Lock, Thread
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import msgspec.msgpack
import numpy as np
import rich
import viser
import viser.infra._infra as viser_infra
import websockets
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.protocol import State

from fleet_sim.apps.viewer.source import Source
from fleet_sim.apps.viewer.stage import ViewStage
from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import InvalidValueError, StateError
from fleet_sim.base.params import ViewParams
from fleet_sim.base.spatial import quaternions

# Who may see the page: requests are admitted or refused before anything of them is read.


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""

Handler = Callable[[ServerConnection, Request], Any]


@dataclass(frozen=True)
class Admission:
    """Admits requests whose path begins with `/token`, for pages and for websockets; without a token, those from here.

    The token is part of the path, as the page opens its websocket below its own address. Pages of other sites are
    refused in both cases: a browser lets any page open a websocket to any address, and tells only the page's origin.
    """

    token: str = ""

    def admitted(self, request: Request) -> Request | Response:
        """Return the request as the server behind is to see it, without the token, or the refusal."""
        path = self._path(request.path)
        if path is None:
            return refusal("the address of this view has a token in it, and this request has not")
        # A browser sends one of each; of several, nobody knows which another reader would believe.
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) > 1 or len(origins) > 1:
            return refusal("a request has one Host, and one Origin at most")
        host = hosts[0] if hosts else ""
        if not self.token and _name(host) not in LOOPBACK:
            # A name of somebody else's that leads here would let his pages in (DNS rebinding).
            return refusal("this view is for pages of localhost; with --host it is for other names, and has a token")
        if origins and _place(origins[0]) != host:
            return refusal("pages of other sites may not use this view")
        return replace(request, path=path)

    def _path(self, path: str) -> str | None:
        if not self.token:
            return path
        given, slash, rest = path.removeprefix("/").partition("?")[0].partition("/")
        # In constant time: the time of an answer does not tell how much of a guess is right.
        if not hmac.compare_digest(given.encode(errors="replace"), self.token.encode()):
            return None
        return slash + rest or "/"


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(18)


def refusal(reason: str, status: http.HTTPStatus = http.HTTPStatus.FORBIDDEN) -> Response:
    """Return the answer to a request that is not admitted."""
    body = f"refused: {reason}\n".encode()
    headers = Headers({"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))})
    return Response(status, status.phrase, headers, body)


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


# Clicks reach the server, each of them. The page of viser sends a click and then holds back others for 20 ms, of
# which it forgets all but the last. On a machine that draws slowly, timers come late, and clicks of seconds are lost.
# Nothing can be set there, so the page gets a few lines: a timer of that length, made while a mouse button is let go,
# is over as soon as that click is dealt with.


_SCRIPT = b"""<script>(() => {
  let releasing = false;
  addEventListener("pointerup", () => { releasing = true; }, true);
  addEventListener("pointerup", () => { releasing = false; });
  const later = window.setTimeout;
  window.setTimeout = (call, delay, ...rest) => {
    if (!releasing || delay !== 20 || typeof call !== "function") return later(call, delay, ...rest);
    queueMicrotask(() => call(...rest));
    return 0;
  };
})();</script>"""
_HEAD = b"<head>"


def with_all_clicks(response: Response) -> Response:
    """Return the answer to a request, with the lines above where it is a page."""
    if response.body and response.headers.get("Content-Type", "").startswith("text/html"):
        response.body = _changed(bytes(response.body), response.headers.get("Content-Encoding") == "gzip")
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
    return response


@lru_cache(maxsize=4)
def _changed(body: bytes, zipped: bool) -> bytes:
    page = gzip.decompress(body) if zipped else body
    page = page.replace(_HEAD, _HEAD + _SCRIPT, 1)
    return gzip.compress(page) if zipped else page


# What a page may send: everything is looked at before the library that serves the pages reads it. That library is
# made for pages of its own, and takes from them more than these pages ever send: files without end, new values for
# any attribute of a control, values that a control does not have.


LONGEST = 16_384
"""Bytes of one message at most; the longest that a page sends is a camera, of some 400."""
LONGEST_TEXT = 200
FURTHEST = 1e9
"""No number is larger, which leaves room for every world, screen and clock."""

Check = Callable[[Any], bool]


def _number(value: Any) -> bool:
    # A bool is an int to Python, and no number to a page.
    return type(value) in (int, float) and abs(value) <= FURTHEST


def _size(value: Any) -> bool:
    return _number(value) and value > 0


def _text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _vector(length: int) -> Check:
    return lambda value: isinstance(value, list) and len(value) == length and all(map(_number, value))


def _direction(length: int) -> Check:
    vector = _vector(length)
    return lambda value: vector(value) and math.hypot(*value) > 1e-9


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _points(value: object) -> bool:
    pair = _vector(2)
    return isinstance(value, list) and 0 < len(value) <= 2 and all(map(pair, value))


def _one_of(*values: object) -> Check:
    return lambda value: value in values


def _input(value: object) -> bool:
    """Whether it is a new value of a control, and nothing else of it."""
    if not isinstance(value, dict) or value.keys() != {"value"}:
        return False
    new = value["value"]
    return isinstance(new, bool) or _number(new) or _text(new)


_POINT, _TURN = _vector(3), _direction(4)
_MODIFIER = _or_none(_text)

CHECKS: Mapping[str, Mapping[str, Check]] = {
    "ViewerCameraMessage": {
        "wxyz": _TURN,
        "position": _POINT,
        "fov": lambda value: _size(value) and value < math.pi,
        "near": _number,
        "far": _number,
        "image_height": _size,
        "image_width": _size,
        "look_at": _POINT,
        "up_direction": _POINT,
    },
    "ScenePointerMessage": {
        "event_type": _one_of("click"),
        "ray_origin": _POINT,
        "ray_direction": _direction(3),
        "screen_pos": _points,
        "modifier": _MODIFIER,
    },
    "GuiUpdateMessage": {"uuid": _text, "updates": _input},
    "TransformControlsUpdateMessage": {"name": _text, "wxyz": _TURN, "position": _POINT, "owner": _text},
    "TransformControlsDragStartMessage": {"name": _text, "owner": _text},
    "TransformControlsDragEndMessage": {"name": _text, "owner": _text},
}
"""The messages of pages, and what each of their fields must be."""


def reason_to_refuse(message: str | bytes) -> str:
    """Return why a message is refused; "": it is not."""
    if isinstance(message, str):
        return "messages of pages are bytes"
    if len(message) > LONGEST:
        return f"a message of {len(message)} bytes, where {LONGEST} are the most"
    try:
        fields = msgspec.msgpack.decode(message)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "a message that is no MessagePack"
    if not isinstance(fields, dict):
        return "a message that is not a map"
    kind = fields.pop("type", None)
    checks = CHECKS.get(kind) if isinstance(kind, str) else None
    if checks is None:
        return "a message that pages do not send"
    if fields.keys() | {"owner"} != checks.keys() | {"owner"}:
        return f"a {kind} with other fields than it has"
    # Whose control it is may be left out: everybody's, then.
    wrong = next((name for name, value in fields.items() if name not in checks or not checks[name](value)), None)
    return "" if wrong is None else f"a {kind} with a wrong {wrong}"


# PageConnection: the websocket of a page, of which only what pages send is read, and not faster than they send.


log = logging.getLogger("fleet_sim.apps.viewer")

MOST_PAGES = 200
"""Connections at the same time, those included that have not said what they want."""
RATE, BURST = 200.0, 400.0
"""Messages per second that are read of a page, and how many at once; a page that is dragged sends 60."""
NOT_ALLOWED = 1008
"""Why such a connection is closed, in words of websockets: policy violation."""


class PageConnection(ServerConnection):
    """Reads messages for viser: one that no page sends ends the connection, and those that come too fast wait."""

    _allowance = BURST
    _counted_at = 0.0

    async def recv(self, decode: bool | None = None) -> Any:
        """Return the next message that pages send. Raises ConnectionClosed as ever."""
        await self._wait_for_allowance()
        message = await super().recv(decode)
        reason = reason_to_refuse(message)
        if reason:
            log.info("a page was cut off: it sent %s", reason)
            await self.close(NOT_ALLOWED, reason)
            # What has come already is thrown away. After it, this raises that the connection is closed.
            while True:
                await super().recv(decode)
        return message

    async def _wait_for_allowance(self) -> None:
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + (now - self._counted_at) * RATE) - 1.0
        self._counted_at = now
        if self._allowance < 0.0:
            # What is not read fills the connection, and its other end waits.
            await asyncio.sleep(-self._allowance / RATE)


# Waking the tasks that send to pages from the threads that have something to say. viser sets an event of asyncio from
# any thread, which walks through all who wait for it while its own loop changes who does: with many pages that raises
# now and then, in the middle of a picture. viser asks the loop to set it afterwards, too, and that is all it needs.


class LoopEvent(asyncio.Event):
    """An event that is set by tasks and callbacks of a loop; by other threads it is not."""

    def set(self) -> None:
        """Wake who waits, if this is the thread of a loop."""
        if _is_in_a_loop():
            super().set()


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def wake_in_the_loop(server: viser.ViserServer) -> None:
    """Let threads that say something to the pages of `server` leave the waking to its loop."""
    pages = server._websock_server
    _guard(pages.get_message_buffer())
    pages.on_client_connect(lambda page: _guard(page.get_message_buffer()))


def _guard(buffer: Any) -> None:
    # In place: a page may wait for it already.
    buffer.message_event.__class__ = LoopEvent


# A server of viser's whose requests pass an Admission. viser hands `host` to `websockets.asyncio.server.serve` as it
# was given, and offers no other way to look at requests. So the host that we give is a text that carries the
# admission, and viser calls `serve` through the function below, which puts that admission before viser's own handler.
# Servers that others make are served as ever.


class GuardedHost(str):
    """The host to bind, and who is admitted; `guards` once a server asks it for each request.

    `connections` are those that are open.
    """

    admission: Admission
    guards: bool
    connections: WeakSet[ServerConnection]

    def __new__(cls, host: str, admission: Admission) -> GuardedHost:
        """Return the host as a text."""
        made = super().__new__(cls, host)
        made.admission, made.guards, made.connections = admission, False, WeakSet()
        return made

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return sum(connection.state is not State.CLOSED for connection in self.connections)

    def drop_silent(self) -> None:
        """Drop the connections that have asked for nothing; for the thread of the server.

        Browsers open some in advance. A server that ends would wait for each of them until its patience is over.
        """
        for connection in list(self.connections):
            if connection.state is State.CONNECTING:
                connection.transport.abort()


def serve_guarded(handler: Any, host: Any, port: Any, **options: Any) -> Any:
    """Do what `serve` of websockets does; for a GuardedHost ask its admission before all else."""
    if not isinstance(host, GuardedHost):
        return serve(handler, host, port, **options)
    behind = options.pop("process_request")

    def process_request(connection: ServerConnection, request: Request) -> Response | None:
        if host.open_connections > MOST_PAGES:
            return refusal(f"this view has {MOST_PAGES} pages, and takes no more", http.HTTPStatus.SERVICE_UNAVAILABLE)
        admitted = host.admission.admitted(request)
        if isinstance(admitted, Response):
            return admitted
        if is_websocket(admitted) and not speaks_our_version(admitted):
            # viser would print a line for each.
            return refusal(f"this view speaks to pages of viser {viser.__version__}; reload the page")
        try:
            answer: Response | None = behind(connection, admitted)
        except (OSError, ValueError):
            # A name that no file can have.
            answer = refusal("there is no such page", http.HTTPStatus.NOT_FOUND)
        return answer and with_all_clicks(answer)

    def connection(*args: Any, **settings: Any) -> ServerConnection:
        made = PageConnection(*args, **settings)
        host.connections.add(made)
        return made

    host.guards = True
    # Pages may go at any time, also while something is said to them.
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection", UserWarning)
    # It is called like a class, and nothing more. What does not even begin as HTTP is not logged, or whoever sends it
    # could fill the log.
    options |= {"process_request": process_request, "create_connection": connection, "logger": _quiet_log()}
    return serve(handler, str(host), port, **(options | {"max_size": LONGEST}))


def is_websocket(request: Request) -> bool:
    """Return whether a request asks for a websocket, as viser decides it."""
    return request.headers.get("Upgrade") == "websocket"


def speaks_our_version(request: Request) -> bool:
    """Return whether a page is of the viser that is installed here."""
    offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
    return f"viser-v{viser.__version__}" in (name.strip() for name in offered.split(","))


def _quiet_log() -> logging.Logger:
    quiet = logging.getLogger("fleet_sim.apps.viewer.connections")
    quiet.setLevel(logging.CRITICAL)
    return quiet


_replacing = Lock()


def _replace_serve() -> None:
    """Have viser call `serve_guarded`: once, for the whole process."""
    with _replacing:
        if isinstance(vars(viser_infra)["websockets"], SimpleNamespace):
            return
        server = SimpleNamespace(**{**vars(websockets.asyncio.server), "serve": serve_guarded})
        # Only the name in viser's own module: everybody else's websockets stay as they are.
        names = SimpleNamespace(
            asyncio=SimpleNamespace(server=server),
            exceptions=websockets.exceptions,
            datastructures=websockets.datastructures,
        )
        vars(viser_infra)["websockets"] = names


@contextmanager
def silent() -> Iterator[None]:
    """Keep viser from printing what it prints when it begins and ends; the address is printed by us."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


def open_server(host: str, port: int, admission: Admission, label: str) -> viser.ViserServer:
    """Return a server on `host`, at `port` or the first free port after it (0: any).

    Raises InvalidValueError for a host that is not of this machine, StateError where viser cannot be guarded.
    """
    check_host(host)
    _replace_serve()
    guarded = GuardedHost(host, admission)
    with silent():
        server = viser.ViserServer(host=guarded, port=port, label=label, verbose=False)
    if not guarded.guards:
        close_server(server)
        raise StateError(f"viser {viser.__version__} cannot be kept from strangers; install viser>=1.1,<1.2")
    forbid_tunnels(server)
    report_faults(server)
    wake_in_the_loop(server)
    return server


LONGEST_NAME = 300
"""Characters of a host that a message repeats."""


def check_host(host: str) -> None:
    """Raise InvalidValueError where nothing can be bound to `host`: viser would try for ever."""
    try:
        family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        socket.create_server((host, 0), family=family).close()
    # UnicodeError: of names that are none, by their encoding for DNS.
    except (OSError, UnicodeError) as error:
        raise InvalidValueError(
            f"host: {host[:LONGEST_NAME]!r} is no address of this machine ({error}); give 127.0.0.1 for this machine"
            " only, 0.0.0.0 for every network it is in, or one of its own addresses"
        ) from error


def forbid_tunnels(server: viser.ViserServer) -> None:
    """Leave requests of pages unanswered to publish this server on the internet, which viser would fulfil."""
    for message in (viser._messages.ShareUrlRequest, viser._messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)


def report_faults(server: viser.ViserServer) -> None:
    """Log the first fault in what a page asked for, and no more: a page may ask again and again."""
    told = False

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal told
        if not told:
            log.error("what a page asked for was not done", exc_info=context.get("exception"))
        told = True

    loop = server.get_event_loop()
    loop.call_soon_threadsafe(loop.set_exception_handler, report)


def close_server(server: viser.ViserServer) -> None:
    """End `server` and its threads."""
    guarded, loop = server.get_host(), server.get_event_loop()
    if isinstance(guarded, GuardedHost):
        # A server that has ended has closed its loop.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(guarded.drop_silent)
    with silent():
        server.stop()


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
