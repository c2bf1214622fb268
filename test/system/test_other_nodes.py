"""A second node of the name."""

from __future__ import annotations

from pathlib import Path

import pytest
from node_program import running


@pytest.mark.slow
def test_a_second_node_of_the_name_is_told_once(tmp_path: Path) -> None:
    with running(tmp_path / "one.log", "-p", "robots:=1") as (one, client):
        client.until(lambda: "press Ctrl-C to stop" in one.output(), "the first node")
        with running(tmp_path / "two.log", "-p", "robots:=1") as (two, _):
            client.until(lambda: "press Ctrl-C to stop" in two.output(), "the second node")
            for process in (one, two):
                client.until(lambda process=process: "is in this ROS domain" in process.output(), "the warning")
            assert one.output().count("is in this ROS domain") == 1
