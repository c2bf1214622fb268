"""Run the tests that a change touches, the nearest first, for less than a minute: `make quick`.

A change is what differs from the last commit, or, where nothing does, the last commit itself; `--since REVISION` takes
another. Files of the package touch the tests that import them, directly or through others; fewer imports in between
are nearer. Other files touch the tests that name them. What is not reached within the time is counted, and left to
`make test`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from mutants.run import PACKAGES

ROOT = Path(__file__).parents[1]
SECONDS = 40.0
"""Time after which no other test begins; starting and the tests that run then take some more."""
GRACE = 12.0
"""After that time more, in s, tests that still run are left alone."""
MOST = 50
"""So many files of tests are read at most: reading more takes longer than is left."""


def changed_files(since: str | None = None) -> list[str]:
    """What was changed since a revision, by default what is not committed yet or else the last commit."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    new = git("ls-files", "--others", "--exclude-standard")
    found = git("diff", "--name-only", since or "HEAD") + new
    if not any(found) and not since:
        found = git("diff", "--name-only", "HEAD~1")
    return sorted(filter(None, found))


@cache
def module_files() -> dict[str, Path]:
    """The modules of the package by their dotted names, and those of the tests by their names below `test`."""
    files = {}
    for folder in (ROOT / "src", ROOT / "test"):
        for path in sorted((folder / "fleet_sim" if folder.name == "src" else folder).rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            # Helpers of tests are imported under their bare names.
            files[path.stem if path.parent == ROOT / "test/support" else ".".join(parts)] = path
    return files


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


# Parsing all files would take longer than most tests.
IMPORT = re.compile(r"^ *from ([\w.]+) import (\([^)]*\)|[^\n(]+)|^ *import ([^\n#]+)", re.MULTILINE)


def imports(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The names that a file imports of modules, and the modules as a whole; each with its name in the file first."""
    names, modules = {}, {}
    for module, listed, wholes in IMPORT.findall(text):
        words = [part.split() for part in re.sub(r"#.*|[()]", "", listed or wholes).split(",")]
        for word in filter(None, words):
            if module:
                names[word[-1]] = f"{module}.{word[0]}"
            else:
                modules[word[-1] if len(word) > 1 else word[0].partition(".")[0]] = word[0]
    return names, modules


@cache
def exports(package: str) -> dict[str, str]:
    """The names that a package imports, with where each is from."""
    path = module_files()[package]
    return imports(text_of(path))[0] if path.name == "__init__.py" else {}


def home_of(name: str) -> str | None:
    """The module in which the dotted name `name` is defined, through packages that only pass it on."""
    if name in module_files():
        return name
    package, _, last = name.rpartition(".")
    if package not in module_files():
        return home_of(package) if package else None
    passed_on = exports(package).get(last)
    return (home_of(passed_on) if passed_on and passed_on != name else None) or package


def imported_names(text: str) -> Iterator[str]:
    """The dotted names that a file imports, or uses of a module that it imports as a whole."""
    names, modules = imports(text)
    yield from names.values()
    for alias, module in modules.items():
        if module != "fleet_sim":
            yield module
        if module.partition(".")[0] == "fleet_sim":
            yield from {f"{module}.{name}" for name in re.findall(rf"\b{re.escape(alias)}\.(\w+)", text)}


@cache
def importers() -> dict[str, set[str]]:
    """For each module those that import something of it."""
    found: dict[str, set[str]] = {name: set() for name in module_files()}
    for name, path in module_files().items():
        # A package that passes names on depends on none of them: who imports them from it does.
        is_package = path.name == "__init__.py"
        for home in {home_of(used) for used in (() if is_package else imported_names(text_of(path)))} - {None, name}:
            found[home].add(name)  # type: ignore[index]
    return found


def distances(changed: Iterable[str]) -> dict[str, int]:
    """The modules that a change of files reaches, with the number of imports in between."""
    names = {path.relative_to(ROOT).as_posix(): name for name, path in module_files().items()}
    reached = {names[file]: 0 for file in changed if file in names}
    waiting = deque(reached)
    while waiting:
        name = waiting.popleft()
        for other in importers()[name] - reached.keys():
            reached[other] = reached[name] + 1
            waiting.append(other)
    return reached


def touched_tests(changed: list[str]) -> list[str]:
    """The files of tests that a change of files touches, the nearest first.

    Nearest are changed tests, then the oracles of a changed part and the tests in the folder of its name.
    """
    reached = distances(changed)
    parts = {"/".join(Path(file).parts[2:-1]) for file in changed if file.startswith("src/fleet_sim/")} - {""}
    oracles = {f"oracles.test_{name}" for part in parts for name in PACKAGES.get(part, ())}
    # Other files by their names, and where tests go through all of a kind.
    others = {Path(file).name for file in changed if not file.endswith(".py")}
    others |= {f"*{ending}" for name in others if (ending := Path(name).suffix)}
    ranked = []
    for name, path in module_files().items():
        if not path.name.startswith("test_"):
            continue
        file = path.relative_to(ROOT).as_posix()
        is_named = any(other in text_of(path) for other in others)
        is_mirror = any(name.startswith(f"{part.replace('/', '.')}.") for part in parts)
        if name in reached or is_named or is_mirror or name in oracles:
            place = (file in changed, name in oracles, is_mirror)
            ranked.append((place.index(True) if any(place) else 3, reached.get(name, 2 if is_named else 99), file))
    return [file for *_, file in sorted(ranked)]


class Deadline:
    """Ends a run of tests in time, without an error."""

    def __init__(self, seconds: float, count: int) -> None:
        self.end = time.monotonic() + seconds
        self.is_over = False
        self.failed: list[pytest.TestReport] = []
        self.files: set[str] = set()
        self._count = count
        timer = threading.Timer(seconds + GRACE, self._leave)
        timer.daemon = True
        timer.start()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what has run, and end where no time is left."""
        self.files.add(report.nodeid.partition("::")[0])
        self.failed += [report] if report.failed else []
        if not self.is_over and time.monotonic() > self.end:
            self.is_over = True
            self.session.shouldstop = "no time is left"
            processes = self.session.config.pluginmanager.getplugin("dsession")
            if processes is not None:
                processes.shouldstop = "no time is left"

    def tell(self) -> None:
        """Say how much was run."""
        if self.is_over or len(self.files) < self._count:
            print(f"make quick: {len(self.files)} files of tests, the nearest of {self._count}; `make test` runs all")

    def _leave(self) -> None:
        """End where tests do not."""
        for report in self.failed:
            print(f"\nFAILED {report.nodeid}\n{report.longreprtext}")
        print()
        self.is_over = True
        self.tell()
        sys.stdout.flush()
        os._exit(bool(self.failed))

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep the session, which is what ends."""
        self.session = session


def main(arguments: list[str]) -> int:
    """Run the tests that a change touches."""
    parser = argparse.ArgumentParser(prog="make quick ARGS=...", description=__doc__.partition("\n")[0])
    parser.add_argument("--since", metavar="REVISION", help="the change is what differs from this revision")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="no test begins after this time")
    parser.add_argument("--list", action="store_true", help="only print the files of tests, the nearest first")
    options, more = parser.parse_known_args(arguments)
    changed = changed_files(options.since)
    files = touched_tests(changed)
    if options.list:
        print("\n".join(files))
        return 0
    if not files:
        print(f"make quick: no test names or imports one of {len(changed)} changed files")
        return 0
    deadline = Deadline(options.seconds, len(files))
    order = ["--dist", "loadfile", "--no-loadscope-reorder"]
    code = pytest.main(["-q", "-m", "not slow", *order, *more, *files[:MOST]], plugins=[deadline])
    deadline.tell()
    return bool(deadline.failed) if deadline.is_over else int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
