"""The site of the documents, opened as files in a real browser without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Browser, installed_browser

ROOT = Path(__file__).parents[1]
SHIM = "javascripts/iframe-worker.js"
SEARCH = """
(async () => {
  const field = document.querySelector('.md-search__input');
  if (!field) return 0;
  field.focus();
  field.value = 'lidar';
  field.dispatchEvent(new Event('keyup', {bubbles: true}));
  return document.querySelectorAll('.md-search-result__item').length;
})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with installed_browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def test_workers_run_on_pages_opened_as_files(browser: Browser, tmp_path: Path) -> None:
    shutil.copy(ROOT / "docs" / SHIM, tmp_path)
    (tmp_path / "more.js").write_text("var added = 10")
    (tmp_path / "worker.js").write_text(
        "addEventListener('message', async (event) => {"
        " await importScripts('more.js'); postMessage(event.data.number + added); })"
    )
    # Sent at once: messages before the worker has started must not be lost.
    (tmp_path / "index.html").write_text(
        "<body><script src='iframe-worker.js'></script><script>const found = [];"
        "const worker = new Worker('worker.js');"
        "worker.addEventListener('message', (event) => found.push(event.data));"
        "worker.postMessage({number: 1}); worker.postMessage({number: 2});"
        "const missing = new Worker('none.js');"
        "missing.addEventListener('error', (event) => window.failed = event.message);"
        "</script></body>"
    )
    page = browser.open((tmp_path / "index.html").as_uri())
    page.wait_for("window.failed && found.length == 2")
    assert page.run("found") == [11, 12]
    assert "none.js" in page.run("failed")
    page.run("worker.terminate()")
    page.wait_for("document.querySelectorAll('iframe').length == 1")


@pytest.mark.slow
def test_the_search_of_the_site_works_without_a_server_and_long_lines_are_not_cut(
    browser: Browser, tmp_path: Path
) -> None:
    pytest.importorskip("material", reason="needs the extra docs")
    pytest.importorskip("mkdocstrings", reason="needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in ("index.html", "tutorials/teacher.html"):
        page = browser.open((tmp_path / "site" / name).as_uri(), width=1400, height=800)
        page.wait_for("document.readyState == 'complete' && !!document.querySelector('.md-search__input')")
        page.wait_for(SEARCH)
        assert page.errors == []
    page.go((tmp_path / "site" / "scenarios.html").as_uri())
    page.wait_for("document.title.includes('cenario') && document.querySelectorAll('pre > code').length > 3")
    cut = "[...document.querySelectorAll('pre > code')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.run(cut) == 0


def test_the_site_loads_nothing_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    # The plugin `offline` adds an address of its own unless a polyfill has this name.
    assert f"polyfills: [{SHIM}]" in settings
    assert "font: false" in settings
