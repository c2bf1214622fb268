"""A launch of a wider scope for each of several parameters: each is one that runs."""

from __future__ import annotations

import sys

import launch_pytest
import pytest
from launch import LaunchContext, LaunchDescription
from launch.actions import ExecuteProcess
from launch_pytest.tools import assert_output_sync, wait_for_start_sync

Launched = tuple[LaunchDescription, ExecuteProcess, str]


@launch_pytest.fixture(scope="module", params=["one", "two"])
def launched(request: pytest.FixtureRequest) -> Launched:
    program = f"print({request.param!r}, flush=True); input()"
    process = ExecuteProcess(cmd=[sys.executable, "-c", program], cached_output=True)
    return LaunchDescription([process, launch_pytest.actions.ReadyToTest()]), process, request.param


@pytest.mark.launch(fixture=launched)
def test_its_process_runs(launched: Launched, launch_context: LaunchContext) -> None:
    _, process, name = launched
    assert wait_for_start_sync(launch_context, process, timeout=60)

    def check(text: str) -> None:
        assert text.split() == [name]

    assert_output_sync(launch_context, process, check, timeout=60)
    assert not launch_context.is_shutdown


@pytest.mark.launch(fixture=launched, shutdown=True)
def test_its_process_has_ended(launched: Launched) -> None:
    assert launched[1].return_code is not None
