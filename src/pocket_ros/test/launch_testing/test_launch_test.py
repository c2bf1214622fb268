"""Launch tests, by the command and by pytest, each in a process of its own."""

import itertools
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

HEADER = """
import sys, unittest
import launch, launch_testing, launch_testing.actions, launch_testing.markers, pytest
from launch.actions import DeclareLaunchArgument, ExecuteProcess, RegisterEventHandler
from launch.substitutions import LaunchConfiguration
from launch_testing.asserts import assertExitCodes, assertInStdout, assertInStderr, assertSequentialStdout
from launch_testing.util import KeepAliveProc

CODE = '''import time
try:
    print("first")
    print("second")
    while True: time.sleep(0.1)
except KeyboardInterrupt:
    print("end")'''

def process(code=CODE, *arguments):
    return ExecuteProcess(cmd=[sys.executable, "-u", "-c", code, *arguments], name="dut")
"""

GOOD = (
    HEADER
    + """
@pytest.mark.launch_test
@launch_testing.parametrize('word', ['x', 'y'])
def generate_test_description(word):
    dut = process(CODE, word)
    return launch.LaunchDescription([
        DeclareLaunchArgument('mode', default_value='slow'), dut, launch_testing.actions.ReadyToTest()
    ]), {'dut': dut}

class Active(unittest.TestCase):
    def setUp(self, dut):
        self.found = dut

    def test_output(self, proc_output, dut, word):
        assert self.found is dut
        proc_output.assertWaitFor('second', process=dut, cmd_args=word, stream='stdout', timeout=20)

    def test_start(self):
        self.proc_info.assertWaitForStartup('dut', timeout=20)

    def test_arguments(self, test_args, launch_service):
        self.assertEqual(test_args.get('mode', 'slow'), launch_service.context.launch_configurations['mode'])

@launch_testing.post_shutdown_test()
class After(unittest.TestCase):
    def test_codes(self, proc_info):
        assertExitCodes(proc_info)

    def test_order(self, proc_output, dut):
        assertInStdout(proc_output, ['first', 'second', 'end'], dut)
        with assertSequentialStdout(proc_output, dut) as output:
            output.assertInStdout('first')
            output.assertInStdout('end')
"""
)

BAD = (
    HEADER
    + """
@pytest.mark.launch_test
def generate_test_description():
    return launch.LaunchDescription([process('raise SystemExit(4)'), KeepAliveProc(),
    launch_testing.actions.ReadyToTest()])

class Active(unittest.TestCase):
    def test_passes(self, proc_info):
        proc_info.assertWaitForShutdown('dut', timeout=20)

@launch_testing.post_shutdown_test()
class After(unittest.TestCase):
    def test_codes(self, proc_info):
        assertExitCodes(proc_info, process='dut')
"""
)

EARLY = (
    HEADER
    + """
@pytest.mark.launch_test
def generate_test_description():
    return launch.LaunchDescription([process('raise SystemExit(4)'), launch_testing.actions.ReadyToTest()])

class Active(unittest.TestCase):
    def test_waits(self, proc_output):
        proc_output.assertWaitFor('never', stream='stdout', timeout=600)
"""
)

LATE = (
    HEADER
    + """
@launch_testing.ready_to_test_action_timeout(0.1)
def generate_test_description():
    never = launch.actions.TimerAction(period=600.0, actions=[launch_testing.actions.ReadyToTest()])
    return launch.LaunchDescription([process(), never])

class Active(unittest.TestCase):
    def test_nothing(self):
        pass
"""
)

WAITING = (
    HEADER
    + """
def generate_test_description():
    return launch.LaunchDescription([KeepAliveProc(), launch_testing.actions.ReadyToTest()])

class Active(unittest.TestCase):
    def test_waits(self, proc_output):
        print('waiting', flush=True)
        proc_output.waitFor('never', stream='stdout', timeout=600)
"""
)

SKIPPED = (
    HEADER
    + """
@pytest.mark.launch_test
@unittest.skip('not here')
def generate_test_description():
    raise AssertionError
"""
)


def write(folder: Path, text: str) -> Path:
    path = folder / "test_demo_launch.py"
    path.write_text(text)
    return path


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "pocket_ros.launch_testing.launch_test", *map(str, words)]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, words)), capture_output=True, text=True)


def run_pytest(path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTEST_ADDOPTS": ""}
    arguments = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", *words, str(path)]
    return subprocess.run(arguments, capture_output=True, text=True, cwd=path.parent, env=env)


def test_good_launch_passes_and_reports(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = run(*command(write(tmp_path, GOOD), "--junit-xml", report, "mode:=fast"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("Ran 3 tests") == 2 and done.stderr.count("Ran 2 tests") == 2
    suites = ElementTree.parse(report).getroot().findall("testsuite")
    assert [suite.get("tests") for suite in suites] == ["5", "5"]
    assert "word=x" in str(suites[0].get("name"))


def test_tests_of_other_modules_are_run_too(tmp_path: Path) -> None:
    (tmp_path / "shared_cases.py").write_text(
        "import unittest\nclass Shared(unittest.TestCase):\n    def test_it(self): self.fail('it was run')\n"
    )
    text = GOOD + f"\nimport sys; sys.path.insert(0, {str(tmp_path)!r})\nfrom shared_cases import Shared\n"
    done = run(*command(write(tmp_path, text), "mode:=fast"))
    assert done.returncode == 1 and "it was run" in done.stdout + done.stderr


def test_failing_test_fails_the_command(tmp_path: Path) -> None:
    done = run(*command(write(tmp_path, BAD)))
    assert done.returncode == 1
    assert "exited with code 4" in done.stderr


def test_processes_that_end_too_early_fail_the_tests(tmp_path: Path) -> None:
    done = run(*command(write(tmp_path, EARLY)))
    assert done.returncode == 1
    assert "Processes under test stopped before tests completed" in done.stdout


def test_launch_that_is_never_ready_fails(tmp_path: Path) -> None:
    done = run(*command(write(tmp_path, LATE)))
    assert done.returncode == 1
    assert "Timed out waiting for processes to start up" in done.stdout


def test_interrupt_ends_the_tests(tmp_path: Path) -> None:
    path = write(tmp_path, WAITING)
    process = subprocess.Popen(command(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = "start"
    while line and "waiting" not in line:
        line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "Processes under test stopped before tests completed" in output


def test_arguments_are_listed(tmp_path: Path) -> None:
    done = run(*command(write(tmp_path, GOOD), "--show-args"))
    assert done.returncode == 0
    assert "    'mode':\n        no description given\n        (default: 'slow')" in done.stdout


def test_wrong_files_are_named(tmp_path: Path) -> None:
    assert "does not exist" in run(*command(tmp_path / "nothing.py")).stderr
    assert "generate_test_description" in run(*command(write(tmp_path, "pass"))).stderr


@pytest.mark.parametrize(("text", "summary"), [(GOOD, "1 passed"), (BAD, "1 failed"), (SKIPPED, "1 skipped")])
def test_by_pytest(text: str, summary: str, tmp_path: Path) -> None:
    done = run_pytest(write(tmp_path, text))
    assert summary in done.stdout, done.stdout + done.stderr
    assert "warning" not in done.stdout
    assert done.returncode == (1 if "failed" in summary else 0)
    if "failed" in summary:
        assert "exited with code 4" in done.stdout


def test_ordinary_modules_are_left_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "def test_one(): pass\ndef test_two(): pass  # not a launch_test generate_test_description\n",
    )
    assert "2 passed" in run_pytest(path).stdout


def test_the_modules_of_launch_testing_can_be_imported_by_tests(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("""
import launch_testing.test_result, launch_testing.test_runner
import pocket_ros.launch_testing.test_runner as inside
from launch_testing.test_runner import LaunchTestRunner

def test_one_object():
    assert launch_testing.test_runner is inside and inside.LaunchTestRunner is LaunchTestRunner
""")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_the_mark_of_launch_testing_ros(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(GOOD.replace("pytest.mark.launch_test", "pytest.mark.rostest"))
    command = [sys.executable, "-m", "pytest", "-q", "--strict-markers"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_texts_are_found_one_behind_the_other() -> None:
    from launch_testing.asserts import SequentialTextChecker

    checker = SequentialTextChecker(["one two\nthr", "ee\nfour\n"])
    for text in ("one", "two\n", "th", "r", "ee\nfo"):
        checker.assertInText(text)
    with pytest.raises(AssertionError, match=r"Did not find 'one' in line 3"):
        checker.assertInText("one")


def test_output_is_text_and_expected_lines_may_come_from_an_iterator(tmp_path: Path) -> None:
    from launch_testing.tools import expect_output, expected_output_from_file

    text = "a\nb1\nb2\n"
    assert expect_output(text, expected_text="b1")
    lines = itertools.chain(["a"], itertools.repeat(re.compile(r"b\d"), 2))
    assert expect_output(text, expected_lines=lines, strict=True)
    assert not expect_output(text, expected_lines=iter(["a", "c"]))
    assert not expect_output(text, expected_lines=itertools.repeat("a"))
    assert expect_output(text, expected_lines=["a", "b"], strict=True)
    assert not expect_output(text, expected_lines=["b"], strict=True)
    assert expect_output(text, expected_lines=(["a", re.compile("b.")], "b2"), strict=True)
    assert expect_output("one of ten", expected_lines=["of"], strict=True)
    assert expect_output("\x1b[31mred\x1b[0m", expected_text="red", strict=True)
    assert not expect_output(
        "\x1b[31mred", expected_text="red", strict=True, strip_ansi_escape_sequences=False
    )
    assert expect_output(lines=iter(["a", "b"]), expected_lines=["a", "b"])
    with pytest.raises(ValueError, match="one of"):
        expect_output(text, lines=["a"], expected_text="a")
    (tmp_path / "expected.txt").write_bytes("\u00e4\n".encode("latin-1"))
    assert expected_output_from_file(str(tmp_path / "expected"), encoding="latin-1") == ["\u00e4"]
