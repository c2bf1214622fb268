"""The launch tests of before."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteProcess, OpaqueFunction
from launch_testing.legacy import LaunchTestService
from launch_testing.legacy.output import (
    create_output_lines_filter,
    create_output_lines_test,
    create_output_regex_test,
    create_output_test_from_file,
    get_rmw_output_filter,
)


def process(program: str) -> ExecuteProcess:
    return ExecuteProcess(cmd=[sys.executable, "-c", program])


def run(service: LaunchTestService, description: LaunchDescription) -> int:
    launch = LaunchService()
    launch.include_launch_description(description)
    return service.run(launch)


def test_processes_and_actions_give_the_return_code() -> None:
    for code, expected in ((0, 0), (3, 3)):
        service, description = LaunchTestService(), LaunchDescription()
        service.add_test_action(description, process(f"raise SystemExit({code})"))
        service.add_test_action(description, OpaqueFunction(function=lambda context: None))
        service.add_fixture_action(description, process("import time\nwhile True: time.sleep(0.1)"))
        assert run(service, description) == expected
    service, description = LaunchTestService(), LaunchDescription()
    service.add_fixture_action(description, process("raise SystemExit(4)"))
    service.add_test_action(description, process("import time\nwhile True: time.sleep(0.1)"))
    assert run(service, description) == 4


def test_output_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "seen.regex").write_text(r"line \d\nline [a-z]")
    (tmp_path / "absent.txt").write_text("line 1\nline 2")
    for name, expected in (("seen", 0), ("absent", 1)):
        service, description = LaunchTestService(), LaunchDescription()
        action = process("print('line 1'); print('line b')")
        service.add_fixture_action(description, action)
        service.add_output_test(description, action, create_output_test_from_file(str(tmp_path / name)))
        assert run(service, description) == expected
    with pytest.raises(RuntimeError, match="could not find"):
        create_output_test_from_file(str(tmp_path / "none"))


def test_a_filter_and_the_end_of_the_launch_when_all_was_found() -> None:
    service, description = LaunchTestService(), LaunchDescription()
    action = process("import time; print('rc 1'); print('yes', flush=True)\nwhile True: time.sleep(0.1)")
    description.add_action(action)
    test = create_output_regex_test([re.compile(b"(?m)^yes")])
    keep = create_output_lines_filter()
    service.add_output_test(description, action, test, output_filter=keep, side_effect="shutdown")
    assert run(service, description) == 0
    assert keep(b"pid 1\nyes\nrc 2\n") == b"yes\n"


def test_misuse_is_refused() -> None:
    service, description = LaunchTestService(), LaunchDescription()
    action = process("pass")
    with pytest.raises(ValueError, match="expects nothing"):
        service.add_output_test(description, action, create_output_lines_test([]))
    lines = create_output_lines_test([b"a"])
    with pytest.raises(ValueError, match="'shutdown' or None"):
        service.add_output_test(description, action, lines, side_effect="stop")
    service.add_output_test(description, action, lines)
    with pytest.raises(ValueError, match="another test_suffix"):
        service.add_output_test(description, action, lines)
    with pytest.raises(TypeError, match="'prefixes' or 'patterns'"):
        get_rmw_output_filter("rmw_cyclonedds_cpp", "lines")
    assert get_rmw_output_filter("rmw_cyclonedds_cpp", "prefixes") == []
