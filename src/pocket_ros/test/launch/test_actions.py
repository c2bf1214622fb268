"""Launch descriptions, run by a launch service in this process."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from launch import LaunchContext
from launch.actions import (
    AppendEnvironmentVariable,
    EmitEvent,
    ExecuteProcess,
    GroupAction,
    OpaqueCoroutine,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    SetLaunchConfiguration,
    Shutdown,
    TimerAction,
)
from launch.conditions import IfCondition, LaunchConfigurationEquals, UnlessCondition
from launch.event_handlers import OnExecutionComplete, OnProcessExit, OnProcessIO, OnProcessStart, OnShutdown
from launch.events import matches_action
from launch.events.process import ProcessStdin, ShutdownProcess, SignalProcess
from launch.logging import launch_config
from launch.substitutions import LaunchConfiguration, LocalSubstitution
from launching import run

WAIT_FOR_SIGINT = """
import time
try:
    print('up')
    while True: time.sleep(0.1)
except KeyboardInterrupt:
    print('down')
"""


def python(code: str, **options: Any) -> ExecuteProcess:
    return ExecuteProcess(cmd=[sys.executable, "-u", "-c", code], name="child", output="screen", **options)


def note(seen: list[Any], value: Any) -> OpaqueFunction:
    """An action that remembers the value of a launch configuration, or a fixed value."""

    def function(context: LaunchContext) -> None:
        seen.append(value.perform(context) if hasattr(value, "perform") else value)

    return OpaqueFunction(function=function)


def test_process_output_has_the_name_in_front(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(python("import sys; print('out'); print('err', file=sys.stderr); sys.stdout.write('rest')")) == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[INFO] [child-") and "process started with pid [" in lines[0]
    assert {line.split("] ", 1)[1] for line in lines[1:-1]} == {"out", "err", "rest"}
    assert all(line.startswith("[child-") for line in lines[1:-1])
    assert "process has finished cleanly" in lines[-1]


def test_exit_code_reaches_the_handler() -> None:
    seen: list[int] = []
    process = python("raise SystemExit(3)")
    handler = OnProcessExit(
        target_action=process, on_exit=lambda event, context: seen.append(event.returncode)
    )
    assert run(RegisterEventHandler(handler), process) == 0
    assert seen == [3] and process.return_code == 3


def test_start_exit_io_and_completion_handlers() -> None:
    seen: list[str] = []
    process = python("import sys; sys.stdout.write('data')")
    assert (
        run(
            RegisterEventHandler(OnProcessStart(target_action=process, on_start=[note(seen, "start")])),
            RegisterEventHandler(
                OnProcessIO(
                    target_action=process, on_stdout=lambda event: seen.append(event.text.decode().strip())
                )
            ),
            RegisterEventHandler(OnProcessExit(target_action=process, on_exit=[note(seen, "exit")])),
            RegisterEventHandler(
                OnExecutionComplete(target_action=process, on_completion=[note(seen, "done")])
            ),
            RegisterEventHandler(OnShutdown(on_shutdown=[note(seen, LocalSubstitution("event.reason"))])),
            process,
        )
        == 0
    )
    assert seen == ["start", "data", "exit", "done", "idle"]


def test_shutdown_action_ends_other_processes(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = python(WAIT_FOR_SIGINT)
    up = OnProcessIO(target_action=waiting, on_stdout=lambda event: [Shutdown(reason="enough")])
    assert run(RegisterEventHandler(up), waiting) == 0
    assert waiting.return_code == 0
    assert "sending signal 'SIGINT'" in capsys.readouterr().out


def test_signals_escalate(capsys: pytest.CaptureFixture[str]) -> None:
    ignore = "for number in (2, 15): signal.signal(number, lambda *_: None)"
    code = f"import signal\n{ignore}\nprint('up')\nwhile True: signal.pause()"
    stubborn = python(code, sigterm_timeout="0.05", sigkill_timeout=LaunchConfiguration("patience"))
    up = OnProcessIO(target_action=stubborn, on_stdout=lambda event: [Shutdown()])
    assert run(RegisterEventHandler(up), stubborn, patience="0.05") == 0
    assert stubborn.return_code == -9
    output = capsys.readouterr().out
    assert "escalating to 'SIGTERM'" in output and "escalating to 'SIGKILL'" in output


def test_signals_reach_what_a_shell_started() -> None:
    seen: list[str] = []
    command = f"{sys.executable} -u -c {shlex.quote(WAIT_FOR_SIGINT)}; echo after"
    shell = ExecuteProcess(cmd=[command], shell=True)
    handler = OnProcessIO(
        target_action=shell,
        on_stdout=lambda event: (
            seen.append(event.text.decode())
            or [EmitEvent(event=ShutdownProcess(process_matcher=matches_action(shell)))]
        ),
    )
    assert run(RegisterEventHandler(handler), shell) == 0
    assert "down" in "".join(seen)


def test_signal_and_input_by_event() -> None:
    seen: list[str] = []
    reader = python("print(input())")
    feed = EmitEvent(event=ProcessStdin(text=b"hello\n", process_matcher=matches_action(reader)))
    waiting = python("import time\nprint('up')\nwhile True: time.sleep(0.1)")
    kill = EmitEvent(event=SignalProcess(signal_number="SIGUSR1", process_matcher=matches_action(waiting)))
    assert (
        run(
            RegisterEventHandler(OnProcessStart(target_action=reader, on_start=[feed])),
            RegisterEventHandler(
                OnProcessIO(target_action=reader, on_stdout=lambda event: seen.append(event.text.decode()))
            ),
            RegisterEventHandler(OnProcessIO(target_action=waiting, on_stdout=lambda event: kill)),
            reader,
            waiting,
        )
        == 0
    )
    assert "".join(seen) == "hello\n"
    assert waiting.return_code == -10


def test_respawn_stops_at_its_limit() -> None:
    starts: list[int] = []
    process = python("pass", respawn=True, respawn_max_retries=2)
    count = OnProcessStart(target_action=process, on_start=lambda event, context: starts.append(event.pid))
    assert run(RegisterEventHandler(count), process) == 0
    assert len(set(starts)) == 3


def test_command_that_does_not_exist_ends_its_process_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(ExecuteProcess(cmd=["/nowhere/at_all"]), python("print('other')")) == 0
    output = capsys.readouterr().out
    assert "cannot start '/nowhere/at_all'" in output and "other" in output


def test_cached_output_and_terminal() -> None:
    process = python("import os; print(os.isatty(1))", cached_output=True, emulate_tty=True)
    assert run(process) == 0
    assert process.get_stdout().strip() == "True"


def test_groups_keep_their_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_PATH", "a")
    seen: list[Any] = []
    value = LaunchConfiguration("value", default="unset")

    def environment(context: LaunchContext) -> None:
        seen.append(os.environ["FLEET_PATH"])

    look = OpaqueFunction(function=environment)
    inside = [
        SetLaunchConfiguration("value", "in"),
        AppendEnvironmentVariable("FLEET_PATH", "b", separator=","),
        note(seen, value),
        look,
    ]
    assert run(GroupAction(inside), note(seen, value), OpaqueFunction(function=environment)) == 0
    assert seen == ["in", "a,b", "unset", "a"]
    seen.clear()
    assert run(GroupAction([SetLaunchConfiguration("value", "in")], scoped=False), note(seen, value)) == 0
    alone = GroupAction([note(seen, value)], forwarding=False, launch_configurations={"other": "1"})
    assert run(alone, value="outer") == 0
    assert seen == ["in", "unset"]


def test_conditions() -> None:
    seen: list[str] = []

    def conditional(name: str, condition: Any) -> GroupAction:
        return GroupAction([note(seen, name)], condition=condition)

    assert (
        run(
            conditional("if", IfCondition(LaunchConfiguration("gui"))),
            conditional("unless", UnlessCondition(LaunchConfiguration("gui"))),
            conditional("equals", LaunchConfigurationEquals("mode", "fast")),
            gui="true",
            mode="fast",
        )
        == 0
    )
    assert seen == ["if", "equals"]
    assert run(conditional("bad", IfCondition("perhaps"))) == 1


def test_timers_and_coroutines() -> None:
    seen: list[str] = []

    async def coroutine(context: LaunchContext, name: str) -> None:
        seen.append(name)

    late = TimerAction(period="0.02", actions=[note(seen, "late")])
    assert run(late, TimerAction(period=0.0, actions=[note(seen, "soon")]), note(seen, "now")) == 0
    assert seen == ["now", "soon", "late"]
    assert run(OpaqueCoroutine(coroutine=coroutine, args=["coroutine"])) == 0
    assert seen[-1] == "coroutine"
    never = TimerAction(period=3600.0, actions=[note(seen, "never")])
    assert run(never, Shutdown()) == 0
    assert "never" not in seen


def test_environment_of_children() -> None:
    process = python(
        "import os; print(os.environ['A'], os.environ['B'])", additional_env={"B": "2"}, cached_output=True
    )
    assert run(GroupAction([SetEnvironmentVariable("A", "1"), process])) == 0
    assert process.get_stdout() == "1 2\n"


def test_error_in_a_launch_file_ends_the_launch_and_its_processes(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = python(WAIT_FOR_SIGINT)

    def broken(context: LaunchContext) -> None:
        raise ValueError("no such robot")

    fail = OpaqueFunction(function=broken)
    up = OnProcessIO(target_action=waiting, on_stdout=lambda event: [fail])
    assert run(RegisterEventHandler(up), waiting) == 1
    output = capsys.readouterr().out
    assert "Caught exception in launch (see debug for traceback): no such robot" in output
    assert "Traceback" not in output
    assert "Traceback" in Path(launch_config.get_log_file_path()).read_text()
    assert waiting.return_code == 0
