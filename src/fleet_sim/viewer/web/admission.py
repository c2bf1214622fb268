"""Who may see the page: requests are admitted or refused before anything of them is read."""

from __future__ import annotations

import hmac
import http
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

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
