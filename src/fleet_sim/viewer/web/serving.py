"""A server of viser's whose requests pass an Admission.

viser hands `host` to `websockets.asyncio.server.serve` as it was given, and offers no other way to look at requests. So
the host that we give is a text that carries the admission, and viser calls `serve` through the function below, which
puts that admission before viser's own handler. Servers that others make are served as ever.
"""

from __future__ import annotations

import asyncio
import http
import logging
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import rich
import viser
import viser.infra._infra as viser_infra
import websockets
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.protocol import State

from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.viewer.web.admission import Admission, refusal
from fleet_sim.viewer.web.clicks import with_all_clicks
from fleet_sim.viewer.web.incoming import LONGEST
from fleet_sim.viewer.web.page_connection import MOST_PAGES, PageConnection
from fleet_sim.viewer.web.waking import wake_in_the_loop

log = logging.getLogger("fleet_sim.viewer")


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
    quiet = logging.getLogger("fleet_sim.viewer.connections")
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
