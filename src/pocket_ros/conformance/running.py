"""Runs test files one by one, each in a process of its own with a time limit."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from prefix import LENT
from suites import Suite, test_files

_TEST_SECONDS = 60


@dataclass
class FileResult:
    """What became of the tests of a file; `failures` has the last line of what each says."""

    file: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    not_collectable: str = ""
    failures: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def run_suite(
    checkout: Path, suite: Suite, work: Path, environment: Mapping[str, str], seconds: float, only: str = ""
) -> Iterator[FileResult]:
    """Run the files of a suite whose path contains `only`, one by one, on a copy of the package's tests."""
    files = [path for path in test_files(checkout, suite) if only in str(path)]
    copy = work / suite.repository / suite.folder
    if files and not copy.exists():
        # Not the package beside its tests: it would be imported in place of what is tested.
        shutil.copytree(checkout / suite.folder / suite.tests, copy / suite.tests, symlinks=True)
        for name in suite.emptied:
            (copy / suite.tests / name).write_text("")
        if (checkout / suite.folder / "pytest.ini").is_file():
            shutil.copy(checkout / suite.folder / "pytest.ini", copy)
    # Tests share helpers that are beside their folders.
    python_path = os.pathsep.join(filter(None, [environment.get("PYTHONPATH"), str(copy / suite.tests)]))
    environment = {**environment, "PYTHONPATH": python_path}
    for path in files:
        name = path.relative_to(checkout / suite.folder)
        yield run_file(copy / name, str(name), environment, seconds)


def run_file(path: Path, name: str, environment: Mapping[str, str], seconds: float) -> FileResult:
    """Run one file: by `launch_test` where it describes a launch, by pytest otherwise."""
    report = path.with_suffix(".junit.xml").absolute()
    command = _command(path)
    options = [f"--junit-xml={report}"]
    if command[-1] == "pytest":
        # As colcon does it: tests that parse the command line find nothing of pytest's there.
        options = [*_pytest_options(), *options, path.name]
        environment = {**environment, "PYTEST_ADDOPTS": shlex.join(options)}
        options = []
    tail, timed_out = _run([*command, *options], path.parent, environment, seconds)
    if timed_out:
        return FileResult(name, not_collectable=f"no end within {seconds:g} s")
    if not report.exists():
        return FileResult(name, not_collectable=tail)
    return read_report(report, name)


def _command(path: Path) -> list[str]:
    if re.search(r"^def generate_test_description", path.read_text(), re.MULTILINE):
        return [sys.executable, "-m", "launch_testing.launch_test", str(path), *_launch_arguments(path)]
    return [sys.executable, "-m", "pytest"]


def _pytest_options() -> list[str]:
    limit = [f"--timeout={_TEST_SECONDS}"] if find_spec("pytest_timeout") else []
    return ["-q", "-p", "no:cacheprovider", "-p", LENT, *limit]


def _launch_arguments(path: Path) -> list[str]:
    """What the package's pytest.ini gives to launch tests, which pytest would."""
    found = next(
        (folder / "pytest.ini" for folder in path.parents if (folder / "pytest.ini").is_file()), None
    )
    words = found.read_text().split() if found else []
    return [value for word, value in pairwise(words) if word == "--launch-args"]


def _run(
    command: list[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> tuple[str, bool]:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
        timed_out = False
    except subprocess.TimeoutExpired:
        timed_out = True
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
    lines = [line for line in output.splitlines() if line.strip()]
    return (lines[-1] if lines else "no output"), timed_out


def read_report(report: Path, name: str) -> FileResult:
    """The counts in a junit file. A file that pytest cannot import is one error there."""
    result = FileResult(name)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        problem = next((child for child in case if child.tag in ("failure", "error")), None)
        title = str(case.get("name"))
        if problem is not None:
            text = (problem.text or problem.get("message") or "").strip()
            last = next((line for line in reversed(text.splitlines()) if line.startswith("E ")), None)
            last = last or (text.splitlines() or [""])[-1]
            if problem.get("message") == "collection failure":
                result.not_collectable = last
            else:
                result.failed += 1
                result.failures[title] = last
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
    return result
