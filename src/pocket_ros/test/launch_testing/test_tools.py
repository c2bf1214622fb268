"""Processes that tests start, tests that are processes, and results as upstream's runner gives them."""

import re
import signal
import sys
import unittest
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from launch import LaunchDescription, LaunchService
from launch.actions import ExecuteProcess, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch_testing import parametrize, post_shutdown_test
from launch_testing.actions import GTest, PyTest, ReadyToTest
from launch_testing.event_handlers import StdoutReadyListener
from launch_testing.loader import LoadTestsFromPythonModule
from launch_testing.test_runner import LaunchTestRunner
from launch_testing.tools import launch_process
from launch_testing.tools.text import build_line_match, build_text_match

# Blocked, the signal waits for `sigwait`: between a handler and `pause` it could come and be missed.
PAUSE = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"
ECHO = "import sys; print('ready'); print('pid 7'); print('done', file=sys.stderr)"
STAY = f"{PAUSE}; signal.sigwait([signal.SIGINT])"


def python(code: str, **kwargs: Any) -> ExecuteProcess:
    return ExecuteProcess(cmd=[sys.executable, "-u", "-c", code], **kwargs)


def runner_of(describe: Callable[..., Any], *cases: type[unittest.TestCase]) -> LaunchTestRunner:
    module = ModuleType(__name__)
    vars(module).update({case.__name__: case for case in cases}, generate_test_description=describe)
    return LaunchTestRunner(LoadTestsFromPythonModule(module))


def test_a_test_starts_and_ends_processes_of_its_own() -> None:
    def describe() -> LaunchDescription:
        return LaunchDescription([python(STAY), ReadyToTest()])

    class Starts(unittest.TestCase):
        def test_one(self, launch_service: Any, proc_info: Any, proc_output: Any) -> None:
            from launch_testing.tools import basic_output_filter

            stays = python(f"{PAUSE}; {ECHO}; signal.sigwait([signal.SIGINT])")
            options = {"output_filter": basic_output_filter()}
            with launch_process(launch_service, stays, proc_info, proc_output, **options) as process:
                assert process.wait_for_output(lambda text: "done\n" in text, timeout=60)
                assert process.running and not process.terminated
                assert (process.stdout, process.stderr) == ("ready\n", "done\n")
                with self.assertRaisesRegex(RuntimeError, "has not ended"):
                    assert process.exit_code
            assert process.wait_for_shutdown(timeout=60)
            assert process.exit_code == 0
            assert process.target_process_action is stays

    ((_, result),) = runner_of(describe, Starts).run().items()
    assert result.wasSuccessful(), result.errors + result.failures
    assert [case.id().rsplit(".", 1)[1] for case in result.testCases] == ["test_one"]


def test_results_are_by_launch_and_say_what_became_of_each_test() -> None:
    @parametrize("code, wanted", [(0, 0), (3, 0)])
    def describe(code: int, wanted: int) -> LaunchDescription:
        ends = python(f"exit({code})")
        handler = OnProcessExit(target_action=ends, on_exit=[ReadyToTest()])
        return LaunchDescription([python(STAY), ends, RegisterEventHandler(handler)])

    variants = list(describe())
    assert [arguments for _, arguments in variants] == [{"code": 0, "wanted": 0}, {"code": 3, "wanted": 0}]
    assert isinstance(variants[0][0](), LaunchDescription)

    @post_shutdown_test()
    class Ends(unittest.TestCase):
        def test_code(self, code: int, wanted: int) -> None:
            assert code == wanted

    runner = runner_of(describe, Ends)
    runner.validate()
    results = runner.run()
    assert [(str(run), result.wasSuccessful()) for run, result in results.items()] == [
        ("launch_tests[code=0, wanted=0]", True),
        ("launch_tests[code=3, wanted=0]", False),
    ]
    assert all(seconds >= 0 for result in results.values() for seconds in result.testTimes.values())


def test_descriptions_whose_arguments_are_not_given_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected extra argument 'robots'"):
        runner_of(lambda robots: None).validate()
    with pytest.raises(TypeError, match="matching parametrized argument 'robots'"):
        runner_of(parametrize("robots", [1])(lambda: None)).validate()


def test_a_skipped_launch_skips_its_tests_and_a_dead_one_fails_them() -> None:
    class Case(unittest.TestCase):
        def test_one(self) -> None:
            raise AssertionError

    (skipped,) = runner_of(unittest.skip("not here")(lambda: None), Case).run().values()
    assert skipped.wasSuccessful() and [reason for _, reason in skipped.skipped] == ["not here"]
    ends = python("exit(1)")
    description = LaunchDescription([ends, RegisterEventHandler(OnProcessExit(on_exit=[]))])
    (failed,) = runner_of(lambda ready_fn: description, Case).run().values()
    assert not failed.wasSuccessful() and "Launch stopped" in failed.failures[0][1]


def test_a_listener_waits_for_a_word_and_tests_are_processes(tmp_path: Any) -> None:
    (tmp_path / "test_it.py").write_text("def test_one(): pass")
    speaks = python(ECHO)
    passes = PyTest(path=str(tmp_path / "test_it.py"), timeout=300.0)
    hangs = tmp_path / "hangs"
    ignore = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); signal.pause()"
    hangs.write_text(f"#!{sys.executable}\n{ignore}")
    hangs.chmod(0o755)
    late = GTest(path=str(hangs), timeout=0.5, kill_timeout=0.5)
    listener = StdoutReadyListener(target_action=speaks, ready_txt="ready", actions=[passes, late])
    service = LaunchService()
    service.include_launch_description(LaunchDescription([RegisterEventHandler(listener), speaks]))
    assert service.run() == 0
    assert (passes.return_code, late.return_code) == (0, -signal.SIGKILL)
    assert late.path == str(hangs) and passes.timeout == 300.0


@pytest.mark.parametrize(
    ("expected", "strict", "found"),
    [
        ("b", False, (1, 2)),
        ("b", True, None),
        (re.compile("b"), False, (1, 2)),
        (["a", "c"], False, (0, 3)),
        (["a", "c"], True, None),
        (["a", re.compile("b+")], True, (0, 2)),
        (["c", "a"], False, None),
    ],
)
def test_lines_are_matched(expected: Any, strict: bool, found: Any) -> None:
    assert build_line_match(expected, strict=strict)(["a", "bb", "c"]) == found


def test_texts_are_matched_from_a_place_on() -> None:
    assert build_text_match("a")("a b a", 1) == (4, 5)
    assert build_text_match(["b", "a"])("b a b a", 1) == (4, 7)


@pytest.mark.parametrize(("module", "name"), [("launch_testing.pytest.hooks", "find_launch_test_entrypoint")])
def test_what_is_not_covered_says_so(module: str, name: str) -> None:
    with pytest.raises(NotImplementedError, match=re.escape(f"{module}.{name}")):
        getattr(import_module(module), name)


def test_names_are_where_upstream_has_them() -> None:
    for place in (
        "launch_testing.actions.gtest:GTest",
        "launch_testing.decorator:post_shutdown_test",
        "launch_testing.print_arguments:print_arguments_of_launch_description",
        "launch_testing.pytest.hooks:LaunchTestItem",
        "launch_ros.actions.lifecycle_node:LifecycleNode",
        "launch_ros.events.lifecycle.change_state:ChangeState",
        "launch_ros.events.matchers.matches_node_name:matches_node_name",
        "launch_ros.utilities.namespace_utils:prefix_namespace",
        "launch_ros.utilities.normalize_parameters:normalize_parameter_dict",
        "launch_xml.launch_description_sources.xml_launch_description_source:XMLLaunchDescriptionSource",
        "launch.frontend.expose:instantiate_action",
        "launch.utilities.class_tools_impl:is_a",
        "launch.conditions.evaluate_condition_expression_impl:VALID_TRUE_EXPRESSIONS",
    ):
        module, name = place.split(":")
        assert hasattr(import_module(module), name), place
