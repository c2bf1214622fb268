"""The server of the live view: it admits, reads and answers pages, and refuses all others before anything is read."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import hmac
import http
import logging
import math
import re
import secrets
import socket
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Lock
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
import zstandard
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.protocol import State

from fleet_sim.base.errors import InvalidValueError, StateError

# Who may see the page: requests are admitted or refused before anything of them is read.


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that only this machine reaches."""

WITHOUT_TOKEN = "the address of this view has a token in it, and this request has not"


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
            return refusal(WITHOUT_TOKEN)
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

    def opens(self, head: bytes) -> bool:
        """Return whether the head of a request has the token; nothing else of it is looked at."""
        words = head.partition(b"\r\n")[0].split(b" ", 2)
        return not self.token or (len(words) > 1 and self._path(words[1].decode("ascii", "replace")) is not None)

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
# is over as soon as that click is dealt with. Its last line is for the policy below: to be ready for Gaussian splats,
# which are not shown here, viser's page makes functions of texts, and that it may not is no error.
# What a link keeps of a view is behind the # of its address, which no browser sends: the page asks for its websocket
# with it. Meanwhile it is not in the address, of which viser makes that of the websocket.


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
  const view = location.hash.slice(1), post = Worker.prototype.postMessage;
  if (view) history.replaceState(null, "", location.pathname + location.search);
  Worker.prototype.postMessage = function (message, ...rest) {
    if (view && message.type === "set_server") {
      message = {...message, server: message.server + "/?" + view};
      history.replaceState(null, "", "#" + view);
    }
    return post.call(this, message, ...rest);
  };
  addEventListener("unhandledrejection", (event) => { if (event.reason instanceof EvalError) event.preventDefault(); });
})();</script>"""
_HEAD = b"<head>"

# What runs on the page: the scripts that it comes with, by their hashes, and no other. A text that became HTML by a
# mistake, here or in viser, still runs nothing, nor does the page speak to another server, as viser's own address
# (`?websocket=`) offers. viser's page unpacks its program and its WebAssembly, and sets styles of its elements.


_INLINE = re.compile(rb"<script[^>]*>(.*?)</script>", re.DOTALL)
_PACKED = re.compile(rb'<script data-p="([^"]*)"[^>]*')
_DIGITS = bytes(code for code in range(0x21, 0x7F) if chr(code) not in "\"&<>'`")
"""Of numbers to the base 88, five of which are four bytes: how the page packs its program."""
_FRAMED_BY = "'self' http://localhost:* http://127.0.0.1:* https://localhost:* vscode-webview:"
"""Who may show the page in a frame, as notebooks do, where its address is no secret."""


def policy_of(page: bytes) -> str:
    """Return the Content-Security-Policy of a page of viser's, but for who may frame it."""
    hashes = [_hash_of(script) for script in (*_INLINE.findall(page), *_packed_scripts(page))]
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'wasm-unsafe-eval' {' '.join(hashes)}",
            "worker-src blob: data:",
            "connect-src 'self' data: blob:",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "style-src 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash_of(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def _packed_scripts(page: bytes) -> Iterator[bytes]:
    for found in _PACKED.finditer(page):
        sizes = {name: int(size) for name, size in re.findall(rb'data-([sc]s)="(\d+)"', found[0])}
        style, code = sizes.get(b"ss", 0), sizes.get(b"cs", 0)
        yield zstandard.ZstdDecompressor().decompress(_unpacked(found[1]), max_output_size=style + code)[style:]


def _unpacked(text: bytes) -> bytes:
    values = np.zeros(256, np.int64)
    values[list(_DIGITS)] = np.arange(len(_DIGITS))
    # The last group may be shorter, and so is the number in it.
    end = len(text) // 5 * 5
    groups, last = values[np.frombuffer(text, np.uint8)], 0
    for digit in groups[end:].tolist():
        last = last * len(_DIGITS) + digit
    whole = (groups[:end].reshape(-1, 5) @ len(_DIGITS) ** np.arange(4, -1, -1)).astype(">u4")
    return bytes(whole.tobytes()) + last.to_bytes(max(len(text) - end - 1, 0), "big")


def answered(response: Response, framed_by: str) -> Response:
    """Return the answer to a request, where it is a page with the lines above and its policy."""
    if response.body and response.headers.get("Content-Type", "").startswith("text/html"):
        response.body, policy = _changed(bytes(response.body), response.headers.get("Content-Encoding") == "gzip")
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
        response.headers["Content-Security-Policy"] = f"{policy}; frame-ancestors {framed_by}"
    # The address of the page is a secret, and a link to another site tells it where one came from.
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@lru_cache(maxsize=4)
def _changed(body: bytes, zipped: bool) -> tuple[bytes, str]:
    page = gzip.decompress(body) if zipped else body
    page = page.replace(_HEAD, _HEAD + _SCRIPT, 1)
    return gzip.compress(page) if zipped else page, policy_of(page)


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
    "CommandTriggerMessage": {"uuid": _text},
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
"""Connections with the token at the same time."""
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

    `connections` are those of pages that are open, `pending` those that have not asked for anything, by their address.
    """

    admission: Admission
    guards: bool
    connections: WeakSet[ServerConnection]
    pending: dict[str, dict[PendingConnection, None]]
    trims: bool
    ends: bool

    def __new__(cls, host: str, admission: Admission) -> GuardedHost:
        """Return the host as a text."""
        made = super().__new__(cls, host)
        made.admission, made.guards, made.trims, made.ends = admission, False, False, False
        made.connections, made.pending = WeakSet(), {}
        return made

    @property
    def open_connections(self) -> int:
        """How many connections of pages are open."""
        return sum(connection.state is not State.CLOSED for connection in self.connections)

    def add_pending(self, connection: PendingConnection, address: str) -> None:
        """Note a new connection; of too many, drop the oldest ones of the address that has the most, a moment later.

        Many come at once: those among them that have asked already must be read before.
        """
        self.pending.setdefault(address, {})[connection] = None
        if not self.trims and self.number_pending > MOST_PENDING:
            self.trims = True
            asyncio.get_running_loop().call_later(0.1, self._trim, asyncio.get_running_loop())

    @property
    def number_pending(self) -> int:
        """How many connections have not asked for anything."""
        return sum(map(len, self.pending.values()))

    def _trim(self, loop: asyncio.AbstractEventLoop) -> None:
        self.trims = False
        while self.number_pending > MOST_PENDING:
            most = max(self.pending.values(), key=len)
            oldest = next(iter(most))
            # On a busy machine what it asked may be there, and not be read yet.
            if loop.time() < oldest.begin + SHORTEST_SILENCE:
                self.trims = True
                loop.call_later(0.1, self._trim, loop)
                return
            oldest.drop()

    def drop_silent(self) -> None:
        """Drop the connections that have asked for nothing, now and later; for the thread of the server.

        Browsers open some in advance. A server that ends would wait for each of them until its patience is over.
        """
        self.ends = True
        for pending in [one for ones in self.pending.values() for one in ones]:
            pending.drop()
        for connection in list(self.connections):
            if connection.state is State.CONNECTING:
                connection.transport.abort()


MOST_PENDING = 200
"""Connections at the same time that have not asked for anything."""
SHORTEST_SILENCE, LONGEST_SILENCE = 0.5, 10.0
"""How long a connection may take to ask for something, in s: where there are too many, and at most."""


class PendingConnection(asyncio.Protocol):
    """A connection that has not asked for anything: with the token it becomes one of a page, without it ends.

    It costs little, and is not counted as a page, so strangers take no place of pages. Who has the token asks at once,
    so of too many the oldest ones can go.
    """

    def __init__(self, host: GuardedHost, protocol: Any, page: Callable[[], ServerConnection]) -> None:
        """`page` makes the connection that it becomes; its server looks for the `protocol` here, too."""
        self.protocol = protocol
        self._host, self._page = host, page
        self._head = b""
        self.begin = 0.0
        self._transport: asyncio.Transport
        self._address = ""
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._host.ends:
            transport.abort()
            return
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        loop = asyncio.get_running_loop()
        self.begin, self._end = loop.time(), loop.call_later(LONGEST_SILENCE, self.drop)
        self._host.add_pending(self, self._address)

    def data_received(self, data: bytes) -> None:
        """Once the request is whole, pass the connection on, or refuse it."""
        self._head += data
        if b"\r\n\r\n" not in self._head:
            if len(self._head) > LONGEST:
                self.drop()
            return
        self._forget()
        if not self._host.admission.opens(self._head):
            self._transport.write(refusal(WITHOUT_TOKEN).serialize())
            self._transport.close()
            return
        page = self._page()
        self._host.connections.add(page)
        self._transport.set_protocol(page)
        page.connection_made(self._transport)
        page.data_received(self._head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._forget()

    def drop(self) -> None:
        """End it without an answer."""
        self._forget()
        self._transport.abort()

    def _forget(self) -> None:
        if self._end is not None:
            self._end.cancel()
        ones = self._host.pending.get(self._address, {})
        ones.pop(self, None)
        if not ones:
            self._host.pending.pop(self._address, None)


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
        return answer and answered(answer, "*" if host.admission.token else _FRAMED_BY)

    def connection(protocol: Any, *args: Any, **settings: Any) -> PendingConnection:
        return PendingConnection(host, protocol, lambda: PageConnection(protocol, *args, **settings))

    host.guards = True
    # Pages may go at any time, also while something is said to them.
    warnings.filterwarnings("ignore", "Queued a .* on a closed connection", UserWarning)
    # It is called like a class, and nothing more. What does not even begin as HTTP is not logged, or whoever sends it
    # could fill the log.
    options |= {"process_request": process_request, "create_connection": connection, "logger": _quiet_log()}
    # As many as come while a step holds the interpreter: what the system has no room for is tried again after a second.
    return serve(handler, str(host), port, **(options | {"max_size": LONGEST, "backlog": 512}))


def is_websocket(request: Request) -> bool:
    """Return whether a request asks for a websocket, as viser decides it."""
    return request.headers.get("Upgrade") == "websocket"


def speaks_our_version(request: Request) -> bool:
    """Return whether a page is of the viser that is installed here."""
    offered = ",".join(request.headers.get_all("Sec-WebSocket-Protocol"))
    return f"viser-v{viser.__version__}" in (name.strip() for name in offered.split(","))


def address_of(server: viser.ViserServer, client_id: int) -> tuple[str, str]:
    """Return the address of a page, and what its link keeps of a view; both empty for a page that is gone."""
    connection = server._websock_server._live_connections.get(client_id)
    request = None if connection is None else connection.request
    if request is None:
        return "", ""
    path, _, view = request.path.partition("?")
    return f"{request.headers.get('Origin', '')}{path.rstrip('/')}/", view


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
