"""Text of the world on the page: shown as it is, and where it became HTML by a mistake, nothing of it would run."""

from __future__ import annotations

import ast
import gc
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from chromium import Browser, Page, until
from view_pages import opened, select, sole_page

import fleet_sim
from fleet_sim import AgentSpawnParams, MultiRobotSimulationCore, Pose, ShapeParams, SimulationParams

pytest.importorskip("viser")
from fleet_sim.apps.viewer import panel, server

SOURCES = Path(fleet_sim.__file__).parent
MAKE_MARKUP = {"add_markdown", "add_html", "add_plotly", "innerHTML"}
SCRIPTS = (
    "<iframe srcdoc='<script>parent.seen=1</script>'></iframe>",
    "<img src=x onerror='window.seen=1'>",
    "<svg><script>window.seen=1</script></svg>",
    "<a href='javascript:window.seen=1'>a</a>",
)


def test_text_becomes_markdown_in_one_place_and_from_constants() -> None:
    doors, shown = [], []
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # A tree is slow to read: elsewhere only of files that have such a word.
        if path.parent.name != "viewer" and not any(word in text for word in MAKE_MARKUP):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and node.attr in MAKE_MARKUP:
                doors.append((path.name, node.attr))
            elif isinstance(node, (ast.Assign, ast.AugAssign)) and path.parent.name == "viewer":
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                doors += [(path.name, t.attr) for t in targets if isinstance(t, ast.Attribute) and t.attr == "content"]
            elif isinstance(node, ast.Call) and path.parent.name == "viewer" and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if node.func.attr == "show" and isinstance(owner, ast.Attribute) and owner.attr in TEXTS:
                    shown.append(node.args[0])
    assert sorted(doors) == [("panel.py", "add_markdown"), ("panel.py", "content")]
    assert len(shown) >= 4
    # What is formatted has no values in it yet: it is put together from constants and how many there are.
    for markdown in shown:
        names = {node.id for node in ast.walk(markdown) if isinstance(node, ast.Name)}
        assert names <= CONSTANTS and not any(isinstance(node, ast.JoinedStr) for node in ast.walk(markdown))


TEXTS = {"_text", "_status", "_legend", "_stations"}
"""Attributes that are a PanelText."""
CONSTANTS = {"NOBODY", "HEADING", "ROW", "len", "lines", "advice", "legend_of", "station_legend", "source", "self"}
"""What Markdown is put together from; `advice` is one of two constants, and both legends return constants."""


class Gui:
    """As much of viser's as a PanelText uses, with its own way of reading pictures."""

    def add_markdown(self, content: str, *, visible: bool) -> Any:
        from viser._gui_handles import _parse_markdown

        class Handle:
            def __setattr__(self, name: str, value: Any) -> None:
                object.__setattr__(self, name, _parse_markdown(value, None) if name == "content" else value)

        return Handle()


def test_no_path_in_a_text_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"no picture")
    read: list[str] = []
    listening = True
    sys.addaudithook(lambda event, args: read.append(str(args[0])) if listening and event == "open" else None)
    text: Any = panel.PanelText(Gui())  # type: ignore[arg-type]
    for name in (f"![p]({secret})", f"<img src='{secret}'>", f"[p]: {secret}\n![p][p]", f"!\x00[p]({secret})"):
        text.show("| {} |\n**{}**", name, name)
    assert not [path for path in read if "secret" in path]
    # And viser would read it: what is tried here is an attack.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Exception):
            Gui().add_markdown("", visible=True).content = f"![p]({secret})"
        # It leaves the file open.
        gc.collect()
    listening = False
    assert [path for path in read if "secret" in path]


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_every_page_says_what_may_run_on_it(host: str) -> None:
    with (
        MultiRobotSimulationCore(SimulationParams(gui=False)) as sim,
        urlopen(sim.view.show(port=0, host=host).url) as answer,
    ):
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    scripts = policy["script-src"].split()
    # Ours, the one that unpacks viser's page, and what it unpacks; nothing by where it comes from.
    assert scripts.pop(0) == "'wasm-unsafe-eval'" and len(scripts) == 3
    assert all(script.startswith("'sha256-") for script in scripts)
    assert policy["default-src"] == "'none'" and policy["connect-src"] == "'self' data: blob:"
    assert (policy["frame-ancestors"] == "*") == (host == "0.0.0.0")


@pytest.fixture(scope="module")
def page_of_scripts() -> Iterator[Any]:
    """A view of a robot whose name is all of SCRIPTS."""
    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
        box = ShapeParams("box", half_extents=(0.5, 0.4, 0.3))
        sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(0.0, 0.0, 0.3), name=f"xss {' '.join(SCRIPTS)}"))
        yield sim


@pytest.mark.slow
def test_a_name_is_shown_as_it_is_whatever_it_would_be_as_html(browser: Browser, tmp_path: Path) -> None:
    picture = tmp_path / "secret.png"
    picture.write_bytes(b"no picture")
    name = f"{SCRIPTS[0]} ![p]({picture}) {{1+1}} {{}} | **a**"
    with MultiRobotSimulationCore(SimulationParams(gui=False, timestep=0.1, target_rtf=0.0)) as sim:
        box = ShapeParams("box", half_extents=(0.5, 0.4, 0.3))
        sim.spawn(AgentSpawnParams(box, box, Pose.from_xyz(0.0, 0.0, 0.3), name=name))
        view: Any = sim.view.show(port=0)
        with sole_page(browser, view) as page:
            elements = "document.querySelectorAll('iframe, img').length"
            before = page.run(elements)
            select(page, view, name, 0.0, 0.0, 0.5)
            # Pictures of the page itself may go while it begins.
            assert page.run(elements) <= before
            assert page.run("window.seen === undefined")


def frames_of(page: Page) -> int:
    frames: int = page.run("document.querySelectorAll('iframe').length")
    return frames


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [True, False])
def test_what_became_html_by_a_mistake_does_not_run(
    browser: Browser, page_of_scripts: Any, monkeypatch: pytest.MonkeyPatch, guarded: bool
) -> None:
    monkeypatch.setattr(panel, "literal", lambda text: text)
    if not guarded:
        # Without the policy it does run: what is tried here is an attack.
        answered = server.answered
        policies = ("Content-Security-Policy",)

        def without(*args: Any) -> Any:
            response = answered(*args)
            for policy in policies:
                del response.headers[policy]
            return response

        monkeypatch.setattr(server, "answered", without)
    view = page_of_scripts.view.show(port=0)
    page = opened(browser, view)
    try:
        select(page, view, "xss", 0.0, 0.0, 0.5)
        until(lambda: frames_of(page), "the name is HTML")
        if guarded:
            until(lambda: [error for error in page.errors if "Content Security Policy" in error], "it is refused")
            assert page.run("window.seen === undefined")
        else:
            until(lambda: page.run("window.seen === 1"), "it runs")
    finally:
        page.close()
        view.close()
