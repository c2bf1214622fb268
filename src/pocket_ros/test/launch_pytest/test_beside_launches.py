"""Tests that run beside a launch, and when it has ended: these are such tests."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import launch_pytest
import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import ExecuteProcess
from launch_pytest.tools import (
    assert_output,
    assert_output_sync,
    assert_stderr_sync,
    wait_for_exit,
    wait_for_exit_sync,
    wait_for_output_sync,
    wait_for_start,
    wait_for_start_sync,
    wait_for_stderr_sync,
)

PROGRAM = "import sys; print('out', flush=True); print('err', file=sys.stderr, flush=True); input()"
order: list[str] = []


@pytest.fixture(scope="module")
def process() -> ExecuteProcess:
    return ExecuteProcess(cmd=[sys.executable, "-c", PROGRAM], cached_output=True)


@launch_pytest.fixture(scope="module", params=["one"])
def shared(process: ExecuteProcess, request: pytest.FixtureRequest) -> Any:
    return LaunchDescription([process, launch_pytest.actions.ReadyToTest()]), request.param


pytestmark = pytest.mark.launch(fixture=shared)


@pytest.mark.launch(fixture=shared, shutdown=True)
def test_when_the_launch_has_ended(launch_service: LaunchService) -> None:
    order.append("ended")
    assert launch_service.task is not None and launch_service.task.done()
    assert launch_service.event_loop is None


async def test_coroutine(process: ExecuteProcess, launch_context: LaunchContext) -> None:
    assert await wait_for_start(launch_context, process, timeout=60)
    assert not await wait_for_exit(launch_context, process, timeout=0.01)
    await assert_output(launch_context, process, lambda text: _same(text, "out"), timeout=60)
    with pytest.raises(RuntimeError, match="in coroutines use those without"):
        wait_for_exit_sync(launch_context, process)


def _same(text: str, expected: str) -> None:
    assert text.split() == [expected]


def test_function(process: ExecuteProcess, launch_context: LaunchContext, shared: Any) -> None:
    assert shared[1] == "one"
    assert wait_for_start_sync(launch_context, process, timeout=60)
    assert_stderr_sync(launch_context, process, lambda text: _same(text, "err"), timeout=60)
    assert wait_for_stderr_sync(launch_context, process, lambda text: "err" in text, timeout=60)
    assert not wait_for_output_sync(launch_context, process, lambda text: "no" in text, timeout=0.01)
    with pytest.raises(AssertionError):
        assert_output_sync(launch_context, process, lambda text: _same(text, "no"), timeout=0.01)


@pytest.mark.parametrize("number", [1, 2])
def test_generator(number: int, process: ExecuteProcess) -> Iterator[None]:
    order.append(f"first half {number}")
    assert process.return_code is None
    yield
    order.append(f"second half {number}")
    assert process.return_code is not None


async def test_asynchronous_generator(process: ExecuteProcess) -> AsyncIterator[None]:
    order.append("async first half")
    yield
    assert process.return_code is not None
    order.append("async second half")


def teardown_module() -> None:
    halves = ["first half 1", "first half 2", "async first half"]
    later = ["second half 1", "second half 2", "async second half"]
    assert [word for word in order if word in halves] == halves
    assert [word for word in order if word in later or word == "ended"] == ["ended", *later]
    assert order.index("ended") > order.index("async first half")
