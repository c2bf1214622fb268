"""Faults are made in processes of their own, in a ROS domain of their own on this machine.

`--times N` makes each fault N times as often as the ordinary tests do; at the end a table tells what was tried. A test
that counts what it does takes `times` and does that much more; each other test is repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from ros_domain import use_own_domain

if find_spec("rclpy") is None:
    collect_ignore = [
        "test_faults_of_nodes.py",
        "test_faults_of_network.py",
        "test_floods_of_invalid_messages.py",
        "test_garbage_for_services.py",
        "test_goals_with_cancels.py",
    ]

use_own_domain()

TRIED = "tried: "
"""Begins the names of properties of tests that are counts."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that says how much is tried."""
    parser.addoption("--times", type=int, default=1, help="how often each fault is made (1)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat the tests that do not themselves do more when asked for more."""
    if "times" not in metafunc.fixturenames:
        metafunc.parametrize("trial", range(_times(metafunc.config)), indirect=True)


@pytest.fixture(autouse=True)
def trial(request: pytest.FixtureRequest) -> int:
    """Return the number of this trial of a test."""
    return int(getattr(request, "param", 0))


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Any]:
    """Run a node with the scenario of everything, five times as fast as real time; give it and a client."""
    from node_program import running

    scenario = Path(__file__).parents[1] / "fuzz" / "seeds" / "node.yaml"
    with running(tmp_path / "node.log", "-p", f"config:={scenario}", "-p", "target_rtf:=5.0") as both:
        yield both


@pytest.fixture
def times(request: pytest.FixtureRequest) -> int:
    """Return how often a counted fault is made."""
    return _times(request.config)


@pytest.fixture
def tried(record_property: Callable[[str, object], None]) -> Callable[[str, int], None]:
    """Return what tells how many of something were tried."""
    return lambda what, count: record_property(TRIED + what, count)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what was tried, and how many trials of each test went wrong."""
    trials, wrong, counts = Counter[str](), Counter[str](), Counter[str]()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            if "faults/" not in report.nodeid or report.when != "call":
                continue
            name = report.nodeid.partition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
            trials[name] += 1
            wrong[name] += outcome == "failed"
            for what, count in report.user_properties:
                if what.startswith(TRIED):
                    counts[what.removeprefix(TRIED)] += count
    if not trials:
        return
    terminalreporter.write_sep("-", "what was tried")
    lines = ["| fault | trials | violations |", "|---|---|---|"]
    lines += [f"| {name} | {count:,} | {wrong[name]} |" for name, count in trials.items()]
    lines += ["", "| counted | |", "|---|---|"] * bool(counts)
    lines += [f"| {what} | {count:,} |" for what, count in counts.items()]
    terminalreporter.write_line("\n".join(lines))


def _times(config: pytest.Config) -> int:
    # Known only where the command line names this folder.
    return int(config.getoption("--times", 1))
