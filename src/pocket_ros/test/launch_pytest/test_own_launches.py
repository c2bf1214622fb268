"""Tests with a launch of their own each."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import launch_pytest
import pytest
from launch import LaunchContext, LaunchDescription
from launch.actions import ExecuteProcess
from launch_pytest.tools import assert_output_sync, wait_for_exit_sync

order: list[str] = []


@launch_pytest.fixture
def brief() -> Iterator[LaunchDescription]:
    echo = ExecuteProcess(cmd=[sys.executable, "-c", "print('done')"], cached_output=True)
    yield LaunchDescription([echo])
    order.append("fixture ended")


def _same(text: str, expected: str) -> None:
    assert text.split() == [expected]


class TestInAClass:
    @pytest.mark.launch(fixture=brief)
    def test_method(self, launch_context: LaunchContext, brief: LaunchDescription) -> Iterator[None]:
        (echo, _) = brief.entities
        assert isinstance(echo, ExecuteProcess)
        assert wait_for_exit_sync(launch_context, echo, timeout=60)
        order.append("fixture used")
        yield
        assert_output_sync(launch_context, echo, lambda text: _same(text, "done"), timeout=0)


@pytest.mark.launch(fixture=brief)
async def test_a_launch_of_its_own(launch_context: LaunchContext) -> None:
    order.append("another launch")


def teardown_module() -> None:
    assert order == ["fixture used", "fixture ended", "another launch", "fixture ended"]
