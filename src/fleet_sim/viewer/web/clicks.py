"""Clicks reach the server, each of them.

The page of viser sends a click and then holds back others for 20 ms, of which it forgets all but the last. On a machine
that draws slowly, timers come late, and clicks of seconds are lost. Nothing can be set there, so the page gets a few
lines: a timer of that length, made while a mouse button is let go, is over as soon as that click is dealt with.
"""

from __future__ import annotations

import gzip
from functools import lru_cache

from websockets.http11 import Response

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
