"""What the documents show works: their Python runs, their links and make targets exist."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
import references
import without_dds
from chromium import Browser, installed_browser
from command_line import fleet_sim_command
from pages import blocks, code_blocks

import fleet_sim
from fleet_sim.base.scenario import Group, RateParams, RosParams
from fleet_sim.sensing.sensors.registry import SENSORS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
TARGETS = set(re.findall(r"^([a-z_-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


# Tutorials are followed step by step in the end of this file.
SCRIPTS = [path for path in DOCUMENTS if blocks(path, "python") and path.parent.name != "tutorials"]


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_python_in_documents_runs(path: Path, tmp_path: Path) -> None:
    # The blocks of a document build on each other, as its reader does.
    code = "\n".join(blocks(path, "python"))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode:
        references.skip_program_that_needs_pybullet(done.stderr)
        without_dds.skip_program_that_needs_dds(done.stderr)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_make_targets_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        assert "://" in link or link.startswith("mailto:") or (path.parent / link).exists(), f"{path.name}: {link}"
    for target in re.findall(r"(?:^|`)make ([a-z_-]+)", text, re.MULTILINE):
        assert target in TARGETS, f"{path.name}: make {target}"


def test_each_promise_of_the_page_on_security_names_a_test_that_holds_it() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:test|src)/[\w/]+\.py)`", text))
    view = set(re.findall(r"`(test_\w+\.py)`", text))
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
    assert [name for name in sorted(view) if not (ROOT / "test/apps/viewer" / name).is_file()] == []
    promises = [table for table in text.split("\n\n") if table.startswith("| rule |")]
    lines = [line for table in promises for line in table.splitlines()[2:]]
    assert len(promises) == 3 and len(lines) > 20
    assert [line[:80] for line in lines if not re.search(r"`[\w/]*test_?\w*\.py`|`test/\S+\.py`", line)] == []


def test_the_guide_to_ros_names_every_key_and_launch_file() -> None:
    text = (ROOT / "docs/ros.md").read_text(encoding="utf-8")
    keys = {field.name for field in fields(RosParams)} - {"rates"} | {f"rates.{key.name}" for key in fields(RateParams)}
    keys |= {*get_args(Group), *(path.name for path in ROOT.glob("launch/*.launch.py"))}
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_every_bundled_model_and_sensor_is_in_the_documents() -> None:
    models = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    assert [path.stem for path in ROOT.glob("urdf/*.urdf") if f"`{path.stem}`" not in models] == []
    sensors = (ROOT / "docs/sensors.md").read_text(encoding="utf-8")
    # Tests register kinds too.
    kinds = [kind for kind in fleet_sim.list_sensors() if SENSORS[kind].__module__.startswith("fleet_sim.")]
    assert "lidar" in kinds
    assert [kind for kind in kinds if f"| `{kind}` |" not in sensors] == []


def test_every_public_name_is_in_the_list_of_names_and_no_other() -> None:
    topics = (ROOT / "docs/names.md").read_text(encoding="utf-8").partition("\n## ")[2]
    assert sorted(re.findall(r"`(\w+)`", topics)) == sorted(fleet_sim.__all__)


def test_the_index_of_documents_names_each_page_once() -> None:
    links = re.findall(r"\]\(([\w./]+\.md)\)", (ROOT / "docs/README.md").read_text(encoding="utf-8"))
    pages = sorted(path.name for path in ROOT.glob("docs/*.md") if path.name != "README.md")
    assert sorted(link for link in links if not link.startswith(("..", "tutorials/"))) == pages
    tutorials = sorted(path.name for path in ROOT.glob("docs/tutorials/*.md"))
    assert sorted(link.removeprefix("tutorials/") for link in links if link.startswith("tutorials/")) == tutorials


def test_the_site_lists_each_page_once() -> None:
    listed = re.findall(r"[\w/]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:")[1])
    pages = sorted(str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md"))
    assert sorted(page for page in listed if not page.startswith(("project/", "reference/"))) == pages


# ---- tutorials -------------------------------------------------------------------------------------------------------


TUTORIALS = sorted((Path(__file__).parents[1] / "docs/tutorials").glob("*.md"))
SCENARIOS = Path(__file__).parents[1] / "docs/scenarios.md"


def run(command: list[str], folder: Path) -> str:
    """Run `command` as in the reader's shell, with the scripts of this environment."""
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join((scripts, os.environ["PATH"]))}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    without_dds.skip_program_that_needs_dds(done.stderr)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("text", [text for _, text in code_blocks(SCENARIOS)], ids=lambda text: text.split()[1])
def test_scenarios_of_the_page_are_whole(text: str, tmp_path: Path) -> None:
    (tmp_path / "it.yaml").write_text(text, encoding="utf-8")
    checked = fleet_sim_command("check", "it.yaml", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    done = fleet_sim_command("run", "it.yaml", cwd=tmp_path)
    # What fails in the run of an example stands beside it.
    failed = [line for line in done.stdout.splitlines() if "failed" in line]
    assert all(f"`{line}`" in SCENARIOS.read_text(encoding="utf-8") for line in failed)
    assert done.returncode == len(failed), done.stderr
    assert "simulated in" in done.stdout


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.slow
def test_a_tutorial_works_as_it_is_written(path: Path, tmp_path: Path) -> None:
    blocks = code_blocks(path)
    code: list[str] = []
    shown = ""
    for language, text in blocks:
        name = re.match(r"# (\w+\.\w+)\n", text)
        if name:
            (tmp_path / name[1]).write_text(text, encoding="utf-8")
        elif language == "python":
            code.append(text)
        elif language == "sh":
            # -m: `kill %1` of a page needs job control.
            shown += run(["bash", "-m", "-e", "-c", text.replace("kill %1; wait", "kill %1; wait || true")], tmp_path)
        elif language == "text":
            assert text.strip() in shown
    if code:
        run([sys.executable, "-c", "\n".join(code)], tmp_path)


# ---- The site of the documents, opened as files in a real browser without a network ----------------------------------


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
