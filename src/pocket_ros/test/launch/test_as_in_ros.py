"""Small things that programs written for ROS see."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from launch import LaunchContext, LaunchDescription, LaunchService
from launch.actions import ExecuteProcess, LogInfo, OpaqueFunction
from launch.conditions import LaunchConfigurationEquals
from launch.event_handlers import OnIncludeLaunchDescription, OnShutdown
from launch.events import Shutdown
from launch.logging import get_logger, get_output_loggers, handlers, launch_config, reset
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch.utilities import visit_all_entities_and_collect_futures
from launch_ros.actions import SetROSLogDir


def test_a_relative_log_folder_is_below_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "ROS_LOG_DIR", "somewhere"
    )  # put back afterwards: a launch's environment is the process's
    context = LaunchContext()
    for given, expected in ((str(tmp_path), tmp_path), ("a", tmp_path / "a"), ("b", tmp_path / "a" / "b")):
        SetROSLogDir(given).execute(context)
        assert context.environment["ROS_LOG_DIR"] == str(expected)
    del context.environment["ROS_LOG_DIR"]
    SetROSLogDir("c").execute(context)
    assert os.path.isabs(context.environment["ROS_LOG_DIR"])


def test_handlers_answer_what_they_were_given() -> None:
    action = LogInfo(msg="over")
    for given in (action, [action]):
        handler = OnShutdown(on_shutdown=given)
        assert handler.handle(Shutdown(), LaunchContext()) is given
        assert handler.describe()[1] == [action]
    assert OnIncludeLaunchDescription(handle_once=True).handle_once


def test_a_log_of_its_own_has_no_time_stamps() -> None:
    command = [sys.executable, "-c", "print('as it came')"]
    service = LaunchService()
    process = ExecuteProcess(cmd=command, output="own_log", name="own")
    service.include_launch_description(LaunchDescription([process]))
    assert service.run() == 0
    (log,) = Path(launch_config.log_dir).glob("own*-stdout.log")
    # Processes are counted over the whole run of tests.
    assert re.fullmatch(r"\[own-\d+\] as it came\n", log.read_text())


@pytest.fixture
def fresh_logs() -> Iterator[None]:
    """Logs that begin here, and begin again behind the test."""
    reset()
    yield
    reset()


def test_loggers_have_the_level_of_the_launch(fresh_logs: None, tmp_path: Path) -> None:
    kept: list[str] = []

    class Keeper(handlers.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(self.format(record))

    launch_config.log_dir = tmp_path  # type: ignore[assignment]
    launch_config.log_handler_factory = lambda path, encoding=None: Keeper()
    logger = get_logger("mine")
    assert logger.getEffectiveLevel() == logging.INFO
    launch_config.level = logging.WARNING
    logger.info("too little")
    logger.warning("enough")
    assert [line.partition(" ")[2] for line in kept] == ["[WARNING] [mine]: enough"]


@pytest.mark.parametrize(
    ("form", "style"), [("%(levelname)s|%(msg)s", "%"), ("$levelname|$msg", "$"), ("{levelname}|{msg}", None)]
)
def test_formats_have_styles(
    form: str, style: str | None, fresh_logs: None, capsys: pytest.CaptureFixture[str]
) -> None:
    launch_config.set_screen_format(form, screen_style=style)
    get_logger("mine").info("hello %s", "you")
    assert capsys.readouterr().out == "INFO|hello you\n"


def test_logs_that_cannot_be_are_refused(fresh_logs: None, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a folder"):
        launch_config.log_dir = str(tmp_path / "missing")
    with pytest.raises(ValueError, match="has a style already"):
        launch_config.set_screen_format("default", screen_style="%")
    with pytest.raises(ValueError, match="no style"):
        launch_config.set_log_format("{msg}", log_style="?")
    with pytest.raises(ValueError, match="no source of output"):
        get_output_loggers("process", {"garbage": {"log"}})


def test_conditions_on_configurations_are_deprecated() -> None:
    with pytest.warns(UserWarning, match="EqualsSubstitution"):
        assert LaunchConfigurationEquals("unset", None).evaluate(LaunchContext())


def test_an_expression_is_described_with_its_modules() -> None:
    expression = PythonExpression(["1 + ", LaunchConfiguration("n")], ["sys", "math"])
    assert expression.describe() == "PythonExpr('1 + ' + LaunchConfig('n'), ['sys', 'math'])"


def test_a_launch_may_wait_for_futures_of_others() -> None:
    async def both() -> None:
        service = LaunchService(noninteractive=True)
        loop, late = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()

        def add(context: LaunchContext) -> None:
            context.add_completion_future(late)
            loop.call_later(0.1, late.set_result, None)

        service.include_launch_description(LaunchDescription([OpaqueFunction(function=add)]))
        assert await service.run_async() == 0
        assert late.done()

    asyncio.run(both())
    with pytest.raises(RuntimeError, match="no launch runs"):
        LaunchContext().add_completion_future(asyncio.Future(loop=asyncio.new_event_loop()))


def test_shutdown_in_the_thread_of_the_launch_can_be_awaited() -> None:
    async def end() -> None:
        service = LaunchService(noninteractive=True)
        running = asyncio.ensure_future(service.run_async(shutdown_when_idle=False))
        await asyncio.sleep(0)
        ending = service.shutdown()
        assert ending is not None
        await ending
        assert await running == 0
        assert service.shutdown() is None

    asyncio.run(end())


def test_visiting_collects_what_is_to_be_awaited() -> None:
    group = LaunchDescription([LogInfo(msg="a"), LogInfo(msg="b")])
    assert visit_all_entities_and_collect_futures(group, LaunchContext()) == []
