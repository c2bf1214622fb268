"""The executable `fleet_sim_node`: threads, signals and an orderly end.

What it needs of ROS and of the simulation is imported in functions: it takes seconds, and a signal may come meanwhile.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import faulthandler
import gc
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread, Timer
from typing import TYPE_CHECKING, NoReturn

from fleet_sim.base.errors import FleetSimError, check_room, did_you_mean, end_for_memory, lack_of_memory

if TYPE_CHECKING:
    from rclpy.executors import Executor, SingleThreadedExecutor

    from fleet_sim.ros.node import FleetSimNode
    from fleet_sim.simulation import MultiRobotSimulationCore
    from fleet_sim.world.pipeline import Phase

# The arguments of `fleet_sim_node`: options of its own, and parameters that do not exist.


def with_flags(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` with the options of this program as parameters; ends the process where there are others.

    An option that is misspelt must not leave open what it was to forbid.
    """
    from rclpy.utilities import remove_ros_args

    parser = argparse.ArgumentParser(
        "fleet_sim_node", description="Hosts a simulation of a fleet in ROS 2.", allow_abbrev=False
    )
    parser.add_argument(
        "--read-only", action="store_true", help="as -p read_only:=true: reject everything that would change something"
    )
    parser.add_argument("--no-remote-spawn", action="store_true", help="as -p remote_spawn:=false")
    chosen = parser.parse_args(remove_ros_args(args=list(arguments)))
    ros = [entry for entry in arguments if entry not in ("--read-only", "--no-remote-spawn")]
    parameters = ["read_only:=true"] * chosen.read_only + ["remote_spawn:=false"] * chosen.no_remote_spawn
    return ros + ["--ros-args", *(part for parameter in parameters for part in ("-p", parameter))] * bool(parameters)


def unknown_parameters(arguments: Sequence[str], is_known: Callable[[str], bool]) -> list[str]:
    """Return the parameters given as `-p NAME:=VALUE` that are not known. ROS itself ignores them silently."""
    given = [text for option, text in pairwise(arguments) if option in ("-p", "--param")]
    # A node's name may stand before that of the parameter.
    names = [text.partition(":=")[0].rpartition(":")[2] for text in given if ":=" in text]
    return [name for name in names if not (is_known(name) or name.startswith("qos_overrides."))]


ROOM = 500 << 20
"""Bytes of address space that a node takes: without them the middleware cannot start its threads, and ends anywhere."""


PATIENCE = 1.5
"""Timeout in s at shutdown for a thread to end, or for results to be sent."""

LONGEST_STEP = 1.5
"""After a signal a step that takes longer, in s, is broken off; what comes before the end of the first step, too.

What a step waits for a processor does not count: on a busy machine it may be most of the time.
"""

FIRST_STEP_LEFT, FIRST_STEP_BROKEN_OFF = 0.2, 1.0
"""In s after a signal, from when the program leaves a first step that imports or compiles, and from when an exception
ends it wherever else it is. One in the middle of a compiler ends some processes with a segmentation fault."""

LONGEST_START = 20.0
"""After that, in s, a start ends even where no code of Python can run."""

LONGEST_CALL = 6.0
"""So long, in s, a later step may keep code of Python from running. A launch kills after ten."""

STOP_PERIOD = 0.05
"""At shutdown the simulation is told to stop this often, in s."""

FAULT_PAUSE = 0.01
"""After a fault in the executor, in s."""

SWITCH_INTERVAL = 1e-4
"""Switch interval of the interpreter in s: the longest time the executor waits for the simulation's thread."""

HEARTBEATS = (
    "<CycloneDDS><Domain><Internal><HeartbeatInterval>300ms</HeartbeatInterval></Internal></Domain></CycloneDDS>"
)
"""Each reader is asked three times a second whether all has come, and not ten times: for thousands of topics that takes
a tenth to a fifth less of the processor. What is lost is seen by the next message all the same."""

MOST_DESTROYED, MOST_SHUT_DOWN = 2500, 7500
"""With more endpoints than these, the process exits without destroying them, and without shutting down the context.

The first takes about a millisecond each in rclpy, the second a tenth of that in pocket_ros. Without it, other nodes
notice the exit only after the lease, 10 s.
"""


class BrokenOff(BaseException):
    """Raised where a signal comes while the program is starting, which may take half a minute of compiling."""


class EndOfSpin(Exception):
    """Raised in the thread of the executor to end its spinning."""


class Worker(Thread):
    """A thread that puts its name in a queue when it ends. `error` is the exception it raised, if any."""

    def __init__(self, name: str, run: Callable[[], object], ended: SimpleQueue[str]) -> None:
        super().__init__(name=name, daemon=True)
        self.error: BaseException | None = None
        self._run_function = run
        self._ended = ended

    def run(self) -> None:
        """Do the work."""
        from rclpy.executors import ExternalShutdownException

        try:
            self._run_function()
        except (ExternalShutdownException, BrokenOff):
            pass
        except BaseException as error:
            self.error = error
        self._ended.put(self.name)

    def time_given(self) -> float:
        """Return a time in s that stands still while the thread waits for a processor, where the system counts that."""
        queued = 0
        with suppress(OSError), open(f"/proc/self/task/{self.native_id}/schedstat", encoding="ascii") as file:
            queued = int(file.read().split()[1])
        return time.monotonic() - queued * 1e-9

    @property
    def is_preparing(self) -> bool:
        """Whether it imports or compiles right now."""
        frame = sys._current_frames().get(self.ident or 0)
        while frame is not None:
            if str(frame.f_globals.get("__name__")).partition(".")[0] in ("numba", "llvmlite", "importlib"):
                return True
            frame = frame.f_back
        return False

    def break_off(self) -> None:
        """Raise BrokenOff in the thread, as soon as it runs code of Python.

        What guards code of users, or calls it from C, may make an ordinary fault of it: that is not worth a line.
        """
        logging.disable(logging.CRITICAL)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident or 0), ctypes.py_object(BrokenOff))


def greet(node: FleetSimNode, arguments: Sequence[str]) -> None:
    """Log that the simulation runs, and the parameters on the command line that do not exist."""
    for name in unknown_parameters(arguments, node.has_parameter):
        hint = did_you_mean(name, (known.name for known in node.get_parameters_by_prefix("").values()))
        node.get_logger().warning(f"there is no parameter {name!r}; it is ignored.{hint}")
    robots = len(node.simulation.agents)
    empty = "" if robots else " (give a scenario with -p config:=FILE, or spawn some with sim/spawn)"
    node.get_logger().info(f"{robots} robot{'s' * (robots != 1)}{empty}; press Ctrl-C to stop")
    duration = node.simulation.params.duration
    if duration:
        node.get_logger().info(
            f"the run ends at {duration:g} s (simulation.duration of the scenario; 0: only Ctrl-C ends it)"
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node until SIGINT, SIGTERM or the end of the scenario's duration.

    Returns 0 then, or 1 after printing the error if it could not start or one of its threads failed.
    """
    # What modules and a fleet are made of stays: looking for garbage among a million objects takes a tenth of the
    # start, and later would hold up a step for half a second.
    gc.disable()
    try:
        return _start(args)
    finally:
        gc.enable()


def _start(args: Sequence[str] | None) -> int:
    ended: SimpleQueue[str] = SimpleQueue()
    on_signal = EndOnSignal(ended)
    try:
        # Before imports, which may need more than there is, and after them.
        check_room(ROOM, "a node")
        import rclpy
        from rclpy._rclpy_pybind11 import RCLError
        from rclpy.exceptions import NameValidationException, ParameterException
        from rclpy.signals import SignalHandlerOptions

        from fleet_sim.ros.node import FleetSimNode

        arguments = with_flags(sys.argv[1:] if args is None else args)
        check_room(ROOM, "a node")
        given = os.environ.get("CYCLONEDDS_URI", "")
        if HEARTBEATS not in given:
            # What the user says comes last, and so wins.
            os.environ["CYCLONEDDS_URI"] = f"{HEARTBEATS},{given}" if given else HEARTBEATS
        # rclpy's own signal handlers would end communication at once, before goals get their results.
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
    except (RuntimeError, MemoryError, ImportError) as error:
        text = lack_of_memory(error) or str(error)
        if isinstance(error, ImportError) and not lack_of_memory(error):
            # Without a name: pocket_ros itself says what it lacks.
            if error.name and not error.name.startswith("rclpy"):
                raise
            text = (
                f"there is no ROS 2 here ({error}): source its setup.bash in this terminal, or install pocket_ros, "
                "which stands in for it: pip install 'fleet_sim[pocket]'"
            )
        # Arguments of ROS that are none, or what the environment asks for and pocket_ros has not, such as SROS 2.
        on_signal.forget()
        print(f"fleet_sim_node: error: {text}", file=sys.stderr)
        return 1
    # As `fleet-sim` does: a scenario may name classes in modules of the working folder.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        on_signal.raise_from_now()
        node = FleetSimNode(arguments)
        gc.freeze()
        gc.enable()
        on_signal.wait_for(node.simulation)
    except (FleetSimError, ParameterException, NameValidationException, RCLError) as error:
        # A parameter of another type, and the name of a node that can have none, are refused by rclpy itself; by the
        # middleware, what the node cannot be without.
        on_signal.forget()
        print(f"fleet_sim_node: error: {error}", file=sys.stderr)
        rclpy.shutdown()
        return 1
    except (MemoryError, ImportError) as error:
        code = end_for_memory("fleet_sim_node", error)
        rclpy.shutdown()
        return code
    except BrokenOff:
        # Other nodes see at once that it is gone.
        rclpy.try_shutdown()
        leave_start()
    code = run_node(node, arguments, ended, on_signal)
    prepare_exit(node, code)
    return code


def run_node(node: FleetSimNode, arguments: Sequence[str], ended: SimpleQueue[str], on_signal: EndOnSignal) -> int:
    """Run the simulation of a node and its executor until one of them ends or something is put into `ended`.

    `arguments` are those of the program, which the greeting names where they count for nothing.

    Returns the exit code of the program, when both have ended and the node is shut down.
    """
    from rclpy.executors import SingleThreadedExecutor

    from fleet_sim.ros.monitoring import SIMULATION_THREAD

    sys.setswitchinterval(SWITCH_INTERVAL)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    simulation = Worker(SIMULATION_THREAD, node.simulation.run_simulation, ended)
    workers = [simulation, Worker("executor", lambda: spin(executor, node.tell_fault), ended)]
    for worker in workers:
        worker.start()
    greet(node, arguments)
    # Whichever ends first, a thread or the wait for a signal, ends the program.
    if ended.get() == simulation.name and simulation.error is None and is_over(node.simulation):
        node.get_logger().info("the simulation.duration of the scenario is over")
    return shut_down(node, executor, workers, on_signal)


def is_over(simulation: MultiRobotSimulationCore) -> bool:
    """Return whether `simulation` has run for the duration of its scenario."""
    duration = simulation.params.duration
    return bool(duration) and simulation.sim_time >= duration - simulation.params.timestep


class EndOnSignal:
    """Asks for the end at a signal, and at the first one has it come whatever the program is doing.

    Of its two watchdogs one is a thread of Python, which ends a start without a word of it. The other is a thread of C:
    it needs no interpreter, which a call that never returns may keep to itself.
    """

    def __init__(self, ended: SimpleQueue[str]) -> None:
        self._ended = ended
        self._armed = self._raises = self._is_over = False
        self._simulation: MultiRobotSimulationCore | None = None
        self._observe: Phase | None = None
        self._begin = 0
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self)
        # Written to by the interpreter itself, also while the main thread is in code of C, where no handler runs.
        self._come, written = os.pipe()
        os.set_blocking(written, False)
        signal.set_wakeup_fd(written, warn_on_full_buffer=False)
        Thread(target=self._watch, name="signals", daemon=True).start()

    def raise_from_now(self) -> None:
        """Let a signal raise BrokenOff, and not end the process as it does while modules are imported."""
        self._raises = True
        # Where it is raised in a callback of C it counts for nothing, and has nothing to say.
        report = sys.unraisablehook

        def hook(fault: sys.UnraisableHookArgs) -> None:
            if not issubclass(fault.exc_type, BrokenOff):
                report(fault)

        sys.unraisablehook = hook

    def wait_for(self, simulation: MultiRobotSimulationCore) -> None:
        """From now on a signal is put in the queue; the start is over when `simulation` has made its first step."""
        from fleet_sim.world.pipeline import Phase  # not later: a handler must import nothing

        self._observe = Phase.OBSERVE
        self._begin, self._simulation = simulation.step_count, simulation

    def forget(self) -> None:
        """Let the watchdogs rest: what is still to be done takes no time, or has a limit of its own."""
        self._is_over = True
        faulthandler.cancel_dump_traceback_later()

    @property
    def is_starting(self) -> bool:
        """Whether the simulation is yet to make its first step, up to its pictures, of which each may take long."""
        simulation = self._simulation
        return simulation is None or (
            simulation.step_count == self._begin and simulation.pipeline.phase is not self._observe
        )

    def wait_for_python(self) -> None:
        """Have the process end where from now on no code of Python runs for long."""
        faulthandler.dump_traceback_later(LONGEST_START if self.is_starting else LONGEST_CALL, exit=True)

    def __call__(self, number: int, frame: object) -> None:
        """Handle a signal. Nothing in here takes a lock, for any thread may hold any of them."""
        if not self._armed:
            self._armed = True
            self.wait_for_python()
            if self._simulation is None:
                if self._raises:
                    raise BrokenOff
                leave_start()
        self._ended.put("signal")

    def _watch(self) -> None:
        while not {signal.SIGINT, signal.SIGTERM}.intersection(os.read(self._come, 16)):
            pass
        time.sleep(LONGEST_STEP)
        if self.is_starting and not self._is_over:
            leave_start()


def leave_start(doing: str = "starting") -> NoReturn:
    """End the process while it is starting. Not by sys.exit: finalising would destroy what was only half made."""
    os.write(2, f"fleet_sim_node: stopped while it was {doing}\n".encode())
    os._exit(0)


def spin(executor: Executor, tell: Callable[[str], object]) -> None:
    """Spin until EndOfSpin is raised in a task. Exceptions of callbacks are reported, and spinning goes on.

    rclpy ends the executor with it, and with the executor go all services, actions and parameters; some requests make
    callbacks of rclpy's own raise, such as a parameter of an unknown type.
    """
    from rclpy.executors import ExternalShutdownException

    while True:
        try:
            executor.spin()
            return
        except EndOfSpin:
            return
        except ExternalShutdownException:
            raise
        except Exception:
            tell(f"executor: fault\n{traceback.format_exc()}")
            # Where spinning itself cannot go on, this must not take a whole core.
            time.sleep(FAULT_PAUSE)


def end_of_spin() -> NoReturn:
    """End the spinning of the executor whose task this is."""
    raise EndOfSpin


def shut_down(
    node: FleetSimNode, executor: SingleThreadedExecutor, workers: Sequence[Worker], on_signal: EndOnSignal
) -> int:
    """End simulation, goals and executor, in this order; return the exit code.

    A first step, which may compile for long, is left or broken off. Does not return where it is left, or where the
    simulation is in another step that takes too long: that is left too if it loads or compiles, else see `abandon`.
    """
    simulation, spinning = workers
    # A start is ended by the clock, see `EndOnSignal._watch`.
    clock = time.monotonic if on_signal.is_starting else simulation.time_given
    begin, is_broken_off = clock(), False
    while simulation.is_alive() and (waited := clock() - begin) < LONGEST_STEP:
        if not on_signal.is_starting:
            on_signal.wait_for_python()
        # More than once: a run that begins only now has not got the first request.
        node.simulation.stop()
        if on_signal.is_starting and waited > FIRST_STEP_LEFT:
            if simulation.is_preparing:
                break
            # Once: the thread may be cleaning up.
            if waited > FIRST_STEP_BROKEN_OFF and not is_broken_off:
                is_broken_off = True
                simulation.break_off()
        simulation.join(STOP_PERIOD)
    if simulation.is_alive():
        if on_signal.is_starting or simulation.is_preparing:
            # What the step still does counts for nothing.
            logging.disable(logging.CRITICAL)
            if spinning.is_alive():
                node.end_goals(PATIENCE)
            # What is recorded is whole. `close` would wait for the step.
            node.simulation.events.emit("closed")
            leave_start("starting" if on_signal.is_starting else "compiling")
        abandon(simulation, LONGEST_STEP)
    logging.disable(logging.NOTSET)
    # From here on all waits are bounded.
    on_signal.forget()
    if spinning.is_alive():
        node.end_goals(PATIENCE)
    # First the spinning, then the executor: rclpy's raises in a thread that spins while another shuts it down.
    executor.create_task(end_of_spin)
    spinning.join(PATIENCE)
    broken = [(worker, worker.error) for worker in workers if worker.error is not None]
    if not spinning.is_alive():
        executor.shutdown(PATIENCE)
    node.simulation.close()
    for worker, error in broken:
        reason = error if isinstance(error, FleetSimError) else lack_of_memory(error)
        if reason:
            print(f"fleet_sim_node: error: {reason}", file=sys.stderr)
            continue
        print(f"fleet_sim_node: the {worker.name} thread broke:", file=sys.stderr)
        traceback.print_exception(error)
    code = 1 if broken else 0
    if spinning.is_alive():
        # What it is doing would fail, and say so, where communication ends meanwhile.
        leave(code)
    return code


def abandon(simulation: Worker, longest: float) -> NoReturn:
    """End the process now, although a step is still being made, and print where that step is."""
    print(f"fleet_sim_node: a step takes longer than {longest:g} s and is broken off; it was here:", file=sys.stderr)
    frame = sys._current_frames().get(simulation.ident or 0)
    traceback.print_stack(frame, file=sys.stderr)
    sys.stderr.flush()
    # Not sys.exit: finalising would destroy objects that the step in the other thread is still using.
    os._exit(1)


def prepare_exit(node: FleetSimNode, code: int) -> None:
    """End communication, and prepare a fast exit with the exit code `code`."""
    import rclpy

    # At exit the interpreter restores the default handlers, and another Ctrl-C would kill the process.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    if node.endpoint_count > MOST_DESTROYED:
        atexit.register(leave, code)
    if node.endpoint_count > MOST_SHUT_DOWN:
        return
    # In time or not: a launch kills what takes long.
    late = Timer(PATIENCE, leave, (code,))
    late.daemon = True
    late.start()
    rclpy.try_shutdown()
    if node.endpoint_count <= MOST_DESTROYED:
        node.destroy_node()
    late.cancel()


def leave(code: int) -> NoReturn:
    """End the process without destroying anything.

    Not even what is static in libraries: the middleware's ends in a fault where its threads still run.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        # Who reads may be gone.
        with suppress(OSError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
