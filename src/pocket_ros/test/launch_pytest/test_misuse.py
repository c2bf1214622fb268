"""What launch_pytest says of fixtures and tests that it cannot run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import launch_pytest
import pytest

FILE = """
import launch_pytest, pytest
from launch import LaunchDescription
from launch.actions import TimerAction
from launch_pytest.actions import ReadyToTest

@launch_pytest.fixture
def thing():
    return object()

@launch_pytest.fixture
def twice():
    return LaunchDescription([ReadyToTest(), ReadyToTest()])

@launch_pytest.fixture
def second():
    return LaunchDescription()

@launch_pytest.fixture(scope="module")
def running():
    return LaunchDescription([TimerAction(period=600.0, actions=[]), ReadyToTest()])

@launch_pytest.fixture(scope="module")
def empty():
    return LaunchDescription()

@pytest.mark.launch(fixture=thing)
def test_thing(): ...

@pytest.mark.launch(fixture=twice)
def test_twice(): ...

@pytest.mark.launch
def test_without(): ...

@pytest.mark.launch(fixture=empty)
def test_half():
    yield
    yield

@pytest.mark.launch(fixture=empty)
async def test_failing():
    assert False
    yield

@pytest.mark.launch(fixture=empty, shutdown=True)
def test_after():
    yield

@pytest.mark.launch(fixture=running)
def test_running(): ...

@pytest.mark.launch(fixture=second)
def test_second(): ...

def test_usual(): ...
"""


def test_each_is_told_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "test_wrong.py").write_text(FILE)
    options = ["-q", "-p", "no:cacheprovider", "--strict-markers", "-rs"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "test_wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    text = done.stdout
    assert "3 failed, 3 passed, 2 skipped, 1 warning, 3 errors" in text, text + done.stderr
    assert "return value must be either a launch description" in text
    assert "containing only one ReadyToTest action, it has 2" in text
    assert '"fixture" keyword argument is required' in text
    assert "must stop iteration after yielding once" in text
    assert "cannot be marked with shutdown=True" in text
    assert "launch_service runs another launch" in text
    assert "shutdown test skipped because the test failed before" in text


def test_a_scope_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="one of: function, class, module, "):
        launch_pytest.fixture(scope="modules")
