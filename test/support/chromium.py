"""A real browser without a screen, driven by the DevTools protocol."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

import system_packages

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    # WebGL in software: there is no graphics card, and no screen.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-port=0",
)
PATIENCE = 45.0
"""In s: a machine under load is slow, and what does not come in this time never will."""

Message = dict[str, Any]


class Browser:
    """Chromium, with any number of pages."""

    def __init__(self, program: str, profile: Path) -> None:
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.PIPE, text=True
        )
        self._socket = self._connected()
        self._answers: dict[int, Future[Message]] = {}
        self._pages: dict[str, Page] = {}
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _connected(self) -> ClientConnection:
        from websockets.sync.client import connect

        assert self._process.stderr is not None
        for line in self._process.stderr:
            found = re.search(r"DevTools listening on (\S+)", line)
            if found:
                # Read on: a pipe that is full would stop it.
                self._reader = Thread(target=self._process.stderr.read, daemon=True)
                self._reader.start()
                return connect(found[1], max_size=None)
        raise RuntimeError("chromium did not start")

    def open(self, url: str, width: int = 900, height: int = 420) -> Page:
        """Return a page that shows `url`."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        # Pages behind others are drawn, too.
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.go(url)
        return page

    def call(self, method: str, session: str = "", **params: Any) -> Message:
        """Return the answer to a call of the protocol."""
        future: Future[Message] = Future()
        number = len(self._answers)
        self._answers[number] = future
        message: Message = {"id": number, "method": method, "params": params}
        self._socket.send(json.dumps({**message, "sessionId": session} if session else message))
        answer = future.result(PATIENCE)
        assert "error" not in answer, (method, answer["error"])
        result: Message = answer["result"]
        return result

    def _listen(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            for text in self._socket:
                message = json.loads(text)
                if "id" in message:
                    self._answers[message["id"]].set_result(message)
                elif message.get("sessionId") in self._pages:
                    self._pages[message["sessionId"]].heard(message)
        except ConnectionClosed:
            return

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.terminate()
        self._process.wait()
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()
        self._thread.join()


class Page:
    """A page. `errors` are what its console said of errors, and exceptions that nothing caught."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self._changed = Condition()
        self.errors: list[str] = []

    def call(self, method: str, **params: Any) -> Message:
        """Return the answer to a call of the protocol."""
        return self._browser.call(method, self._session, **params)

    def heard(self, message: Message) -> None:
        """Note an event."""
        method, params = message["method"], message["params"]
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def go(self, url: str) -> None:
        """Show another address."""
        self.call("Page.navigate", url=url)

    def reload(self) -> None:
        """Load the page again; returns when what was there is gone."""
        self.run("window.isOld = true")
        self.call("Page.reload")
        # While it is exchanged there may be nothing that could answer.
        self.wait_for("!window.isOld && !!document.body")

    def close(self) -> None:
        """Close the page."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def run(self, script: str) -> Any:
        """Return the value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Return the value of an expression as soon as it is true."""
        return until(lambda: self.run(script), script)

    def text(self) -> str:
        """Return all text that is on the page."""
        return str(self.run("document.body ? document.body.innerText : ''"))

    def shows(self, text: str) -> None:
        """Wait until a text is on the page."""
        until(lambda: text in self.text(), f"the page shows {text!r}")

    def press(self, label: str) -> None:
        """Click the button, tab or box with this text."""
        found = (
            "[...document.querySelectorAll('button,label,[role=tab]')]"
            f".find(e => e.offsetParent && e.innerText.trim() == {json.dumps(label)})"
        )
        self.wait_for(f"!!{found}")
        self.run(f"{found}.click()")

    def click(self, x: float, y: float, *, shift: bool = False) -> None:
        """Click at a pixel."""
        where = {"x": x, "y": y, "button": "left", "clickCount": 1, "modifiers": 8 * shift}
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", buttons=1, **where)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", buttons=0, **where)

    def click_at_once(self, clicks: Sequence[tuple[float, float, bool]]) -> None:
        """Click at pixels, some with shift, without giving the page time for anything in between."""
        script = (
            "(async () => { for (const [x, y, shift] of %s) for (const type of ['pointerdown', 'pointerup']) {"
            "document.elementFromPoint(x, y).dispatchEvent(new PointerEvent(type, {bubbles: true, cancelable: true,"
            "clientX: x, clientY: y, button: 0, pointerId: 7, pointerType: 'mouse', isPrimary: true, shiftKey: shift"
            "})); await 0; } })()"
        )
        self.run(script % json.dumps(list(clicks)))

    def point_at(self, x: float, y: float) -> None:
        """Move the mouse to a pixel, from beside it."""
        for away in (1.0, 0.0):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + away, y=y)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag from a pixel, at which the mouse is, to another."""
        held = {"button": "left", "buttons": 1, "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=begin[0], y=begin[1], **held)
        for share in (0.25, 0.5, 0.75, 1.0):
            x, y = (b + share * (e - b) for b, e in zip(begin, end, strict=True))
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, **held)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **{**held, "buttons": 0})

    def press_key(self, key: str) -> None:
        """Press a key, for what has the focus."""
        code = {"Home": 36, "End": 35, "Enter": 13, "ArrowDown": 40}[key]
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def open_folder(self, label: str) -> None:
        """Open a folder of the panel that is closed."""
        found = f"[...document.querySelectorAll('div')].filter(e => e.innerText?.trim() == {json.dumps(label)}).pop()"
        self.wait_for(f"!!{found}")
        self.run(f"{found}.click()")

    def picture(self, path: Path | None = None) -> bytes:
        """Return the page as a PNG."""
        png = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(png)
        return png


@contextmanager
def installed_browser(profile: Path) -> Iterator[Browser]:
    """Run the browser of this machine; the test is skipped where there is none."""
    system_packages.need_commands("chromium")
    program = shutil.which("chromium")
    assert program is not None
    browser = Browser(program, profile)
    try:
        yield browser
    finally:
        browser.close()


def until(condition: Callable[[], Any], what: str) -> Any:
    """Return what `condition` returns as soon as it is true; fails where that never happens."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"did not happen: {what}")
