"""The node as a process: how it starts, ends, and breaks."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from node_program import PATIENCE, Client, NodeProcess, running

from fleet_sim.ros import main
from fleet_sim_msgs.msg import FleetState

NODE = ("-m", "fleet_sim.ros.main")
"""The node as users start it, with all of its end."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well(tmp_path: Path, number: int) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=1", program=NODE) as (process, client):
        states = client.listen(FleetState, "/fleet/states")
        client.until(lambda: states, "the fleet")
        code, _ = process.end(number)
        assert code == 0
        assert "Traceback" not in process.output()


def test_a_signal_while_it_is_imported_ends_it_without_a_traceback() -> None:
    program = """
    import os, signal, sys
    class Interrupted:
        def find_spec(self, name, path=None, target=None):
            if name == "fleet_sim.ros.main":
                os.kill(os.getpid(), signal.SIGINT)
    sys.meta_path.insert(0, Interrupted())
    from fleet_sim.ros import start
    start()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def node_of(folder: Path, name: str, body: str, *parameters: str) -> NodeProcess:
    """Start a program with ROS parameters whose node is of a class with `body`."""
    program = folder / f"{name.lower()}.py"
    lines = [
        "import os, rclpy, signal, subprocess, sys, time",
        "from fleet_sim.world.pipeline import Phase, System",
        "from fleet_sim.ros import main, node",
        f"class {name}(node.FleetSimNode):",
        *textwrap.indent(textwrap.dedent(body).strip(), "    ").splitlines(),
        f"node.FleetSimNode = {name}",
        "sys.exit(main.main())",
    ]
    program.write_text("\n".join(lines) + "\n")
    return NodeProcess(folder / "node.log", *parameters, program=[str(program)])


def test_a_signal_before_the_first_step_ends_it_well(tmp_path: Path) -> None:
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.run, self.simulation.run_simulation = self.simulation.run_simulation, self.run_late
    def run_late(self):
        os.kill(os.getpid(), signal.SIGINT)
        while not self.simulation.control.is_stopping:
            time.sleep(0.001)
        self.run()
    """
    process = node_of(tmp_path, "Late", body)
    assert process.wait() == 0
    assert "broken off" not in process.output()


def test_more_signals_on_its_way_out_change_nothing(tmp_path: Path) -> None:
    with running(tmp_path / "node.log", "-p", "robots:=1", program=NODE) as (process, client):
        states = client.listen(FleetState, "/fleet/states")
        client.until(lambda: states, "the fleet")
        deadline = time.monotonic() + PATIENCE
        while process.process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.process.wait(0.002)
        assert process.process.poll() == 0
        assert "Traceback" not in process.output()


def test_it_ends_by_itself_after_the_duration(tmp_path: Path) -> None:
    config = tmp_path / "short.yaml"
    config.write_text("simulation: {timestep: 0.1, duration: 1.0, target_rtf: 0}\n")
    process = NodeProcess(tmp_path / "node.log", "-p", f"config:={config}", program=NODE)
    assert process.wait() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-p", "config:=nowhere.yaml"], "nowhere.yaml"),
        (["-p", "target_rtf:=-2.0"], "target_rtf: must be a number at least 1e-06, or 0"),
        (["-p", "rates.tf:=fast"], "rates.tf: must be a number"),
        (["-p", "robots:=-1"], "robots: must be at least 0"),
        (["-p", "config:=CONFIG"], "ros.per_robots: unknown key. Did you mean 'per_robot'"),
        (["-p", "client_timeout:=-1.0"], "client_timeout: must be 0 to"),
    ],
)
def test_a_wrong_start_is_refused_with_a_reason(
    tmp_path: Path, arguments: list[str], reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "wrong.yaml"
    config.write_text("ros: {per_robots: all}\n")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        # In this process: it ends before there is anything that needs one of its own.
        assert main.main(["--ros-args", *(text.replace("CONFIG", str(config)) for text in arguments)]) == 1
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert reason in capfd.readouterr().err


def test_a_fault_in_the_simulation_ends_it_with_its_traceback(tmp_path: Path) -> None:
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.pipeline.add(System('faulty', Phase.UPDATE, self.break_down))
    def break_down(self, dt):
        raise RuntimeError('this system is broken')
    """
    process = node_of(tmp_path, "Faulty", body)
    assert process.wait() == 1
    assert "the simulation thread broke" in process.output()
    assert "RuntimeError: this system is broken" in process.output()


@pytest.mark.slow
def test_a_client_finds_the_node_again_after_a_restart(tmp_path: Path) -> None:
    client = Client()
    states: list[FleetState] = []
    client.node.create_subscription(FleetState, "/fleet/states", states.append, 10)
    try:
        for turn in range(2):
            process = NodeProcess(tmp_path / f"node_{turn}.log", "-p", "robots:=1")
            states.clear()
            try:
                client.until(lambda: states, "the fleet")
            finally:
                assert process.end()[0] == 0
    finally:
        client.close()


def test_a_signal_while_it_is_made_ends_it_at_once(tmp_path: Path) -> None:
    # As where a scenario compiles code: half a minute on a busy machine, and launch waits ten seconds.
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            pass
    """
    process = node_of(tmp_path, "Slow", body)
    assert process.wait() == 0
    assert process.output().splitlines()[-1] == "fleet_sim_node: stopped while it was starting"


@pytest.mark.parametrize("module", ["someones", "numba.core"])
def test_a_first_step_that_takes_long_is_left_and_what_is_recorded_is_whole(module: str, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.jsonl"
    body = f"""
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.pipeline.add(System('long', Phase.UPDATE, self.compile))
    def compile(self, dt):
        os.kill(os.getpid(), signal.SIGINT)
        try:
            exec('while True: pass', dict(__name__='{module}'))
        finally:
            os.write(2, b'broken off')
    """
    process = node_of(tmp_path, "Compiling", body, "-p", f"record_inputs:={inputs}")
    assert process.wait() == 0
    assert "Traceback" not in process.output()
    # Not in a compiler, which it leaves in a state that ends the process.
    assert ("broken off" in process.output()) == (module == "someones")
    assert [path.name for path in tmp_path.glob("*inputs*")] == ["inputs.jsonl"]


def test_a_callback_that_takes_long_fails_in_nothing_at_the_end(tmp_path: Path) -> None:
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.create_timer(0.01, self.work)
    def work(self):
        os.kill(os.getpid(), signal.SIGINT)
        while rclpy.ok():
            time.sleep(0.001)
        raise RuntimeError('there is no ROS any more')
    """
    process = node_of(tmp_path, "Working", body)
    assert process.wait() == 0
    assert "Traceback" not in process.output()


def test_a_later_step_that_compiles_is_left(tmp_path: Path) -> None:
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.pipeline.add(System('long', Phase.UPDATE, self.compile))
    def compile(self, dt):
        if self.simulation.step_count == 1:
            os.kill(os.getpid(), signal.SIGINT)
            exec('while True: pass', dict(__name__='numba.core'))
    """
    process = node_of(tmp_path, "Compiling", body)
    assert process.wait() == 0
    assert process.output().splitlines()[-1] == "fleet_sim_node: stopped while it was compiling"


@pytest.mark.slow
def test_a_signal_ends_it_while_it_draws_a_huge_picture(tmp_path: Path) -> None:
    pytest.importorskip("pybullet")
    config = tmp_path / "camera.yaml"
    config.write_text(
        "simulation: {timestep: 0.1, gui: false}\n"
        "robots: [{name: r, shape: {shape_type: sphere, radius: 0.2}, "
        "sensors: [{type: camera, rate: 10, renderer: tiny, width: 8192, height: 8192}]}]\n"
    )
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.get_object('r').sensor('camera').subscribe()
        self.simulation.pipeline.add(System('tells', Phase.UPDATE, lambda dt: os.write(2, b'draws')))
    """
    ended = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    process = node_of(tmp_path, "Drawing", body, "-p", f"config:={config}")
    deadline = time.monotonic() + PATIENCE
    while "draws" not in process.output() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    fields = Path(f"/proc/{process.process.pid}/stat").read_text().rpartition(")")[2].split()
    before = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    process.end()
    # Of processors: on a busy machine it hardly gets one. The whole picture takes ten times as long.
    assert sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - ended - before < 6.0
    assert "a step takes longer than" in process.output()


@pytest.mark.slow
def test_a_signal_in_a_long_first_step_ends_it_well(tmp_path: Path) -> None:
    # As where compiled code is loaded on a busy machine.
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.pipeline.add(System('long', Phase.UPDATE, self.take_long))
    def take_long(self, dt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(main.LONGEST_STEP + 1.0)
    """
    process = node_of(tmp_path, "Long", body)
    assert process.wait() == 0
    assert "broken off" not in process.output()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not count waits for a processor")
def test_a_signal_ends_it_well_where_a_step_hardly_gets_a_processor(tmp_path: Path) -> None:
    # All threads share a processor with programs of higher priority, for three seconds.
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.pipeline.add(System('starved', Phase.UPDATE, self.starve))
    def starve(self, dt):
        if self.simulation.step_count != 1:
            return
        everywhere, processor = os.sched_getaffinity(0), {min(os.sched_getaffinity(0))}
        code = 'import time; end = time.time() + 3.0\\nwhile time.time() < end: pass'
        for _ in range(4):
            os.sched_setaffinity(subprocess.Popen([sys.executable, '-c', code]).pid, processor)
        for thread in map(int, os.listdir('/proc/self/task')):
            os.sched_setaffinity(thread, processor)
            os.setpriority(os.PRIO_PROCESS, thread, 19)
        os.kill(os.getpid(), signal.SIGINT)
        begin = time.thread_time()
        while time.thread_time() < begin + 0.3:
            pass
        for thread in map(int, os.listdir('/proc/self/task')):
            os.sched_setaffinity(thread, everywhere)
    """
    process = node_of(tmp_path, "Starved", body)
    assert process.wait() == 0
    assert "broken off" not in process.output()
    assert "most recent call first" not in process.output()


def test_a_signal_ends_it_also_in_a_step_that_never_does(tmp_path: Path) -> None:
    body = """
    def __init__(self, *given):
        super().__init__(*given)
        self.simulation.pipeline.add(System('endless', Phase.UPDATE, self.never_return))
    def never_return(self, dt):
        if self.simulation.step_count == 0:
            return
        print('in the step', file=sys.stderr, flush=True)
        while True:
            pass
    """
    process = node_of(tmp_path, "Endless", body)
    deadline = time.monotonic() + 3 * PATIENCE
    while "in the step" not in process.output() and time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.process.wait(0.05)
    code, _ = process.end()
    assert code == 1
    assert "never_return" in process.output(), "it says where the step was"
