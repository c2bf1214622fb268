"""Running: durations, pacing, pausing, and other threads."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from typing import Any

import pytest

import fleet_sim as fs
from fleet_sim.world.inbox import SHARE
from fleet_sim.world.pipeline import Phase, System, any_span

Sim = fs.MultiRobotSimulationCore
MakeSim = Callable[..., Sim]
PATIENCE = 60.0


class Run:
    """`run_simulation` in a thread of its own."""

    def __init__(self, sim: Sim, **arguments: Any) -> None:
        self.sim = sim
        self.report: fs.RunReport | None = None
        self._arguments = arguments
        self._thread = Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.report = self.sim.run_simulation(**self._arguments)

    def wait(self) -> fs.RunReport:
        """Return the report of the run once it has ended."""
        self._thread.join(PATIENCE)
        assert self.report is not None
        return self.report


@contextmanager
def running(sim: Sim, **arguments: Any) -> Iterator[Run]:
    """Run `sim` in another thread until the end of the block."""
    run = Run(sim, **arguments)
    try:
        while not sim.is_running:
            time.sleep(0)
        yield run
    finally:
        sim.stop()
        run.wait()


def test_commands_do_not_wait_for_a_step_that_is_far_away(make_sim: MakeSim) -> None:
    sim = make_sim(target_rtf=1e-6)
    sim.spawn(fs.SimObjectSpawnParams(name="crate"))
    with running(sim):
        # The first step is made at once, the next one weeks later.
        while sim.step_count == 0:
            time.sleep(0)
        for place in ([1.0, 0.0, 0.0], [2.0, 0.0, 0.0]):
            command = fs.SetPoses(names=("crate",), positions=[place], orientations=[[0.0, 0.0, 0.0, 1.0]])
            assert sim.inbox.put(command).result(PATIENCE).ok
        assert sim.inbox.put(fs.Reset()).result(PATIENCE).ok


# ---- pacing ----------------------------------------------------------------------------------------------------------


def test_the_real_time_factor_may_change_while_running(make_sim: MakeSim) -> None:
    sim = make_sim(target_rtf=1e-3)
    with running(sim) as run:
        sim.params.target_rtf = 0
        sim.between_steps(lambda: None)
        sim.events.on("post_step", lambda **_: sim.stop() if sim.step_count >= 50 else None)
        assert run.wait().steps >= 50


def test_a_run_that_cannot_keep_up_says_so(make_sim: MakeSim) -> None:
    sim = make_sim(target_rtf=1e9)
    report = sim.run_simulation(1.0)
    assert 0 < report.late_steps <= report.steps
    assert 0.0 < report.worst_delay <= report.wall_time
    assert (sim.pacer.late_steps, sim.pacer.worst_delay) == (report.late_steps, report.worst_delay)
    sim.params.target_rtf = 0
    report = sim.run_simulation(1.0)
    assert (report.late_steps, report.worst_delay) == (0, 0.0)


# ---- pausing and other threads ---------------------------------------------------------------------------------------


def test_paused_means_no_steps(sim: Sim) -> None:
    told: list[str] = []
    for event in ("paused", "resumed"):
        sim.events.on(event, lambda event=event: told.append(event))
    sim.pause()
    sim.pause()
    assert sim.is_paused
    assert sim.step_once() is None
    assert sim.step_once(return_profiling=True) == {}
    sim.single_step(3)
    assert sim.step_count == 3
    sim.resume()
    sim.resume()
    sim.step_once()
    assert sim.step_count == 4
    assert told == ["paused", "resumed"]


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_single_steps_are_whole(sim: Sim, count: Any) -> None:
    sim.pause()
    with pytest.raises(fs.InvalidValueError, match="count"):
        sim.single_step(count)
    assert sim.step_count == 0


def test_another_thread_pauses_steps_and_resumes(sim: Sim) -> None:
    threads: set[str] = set()
    for event in ("paused", "resumed", "post_step"):
        sim.events.on(event, lambda **_: threads.add(threading.current_thread().name))
    with running(sim) as run:
        sim.pause()
        sim.between_steps(lambda: None).result(PATIENCE)
        before = sim.step_count
        sim.single_step(5)
        assert sim.step_count == before + 5
        sim.resume()
        reached = Event()
        sim.events.on("post_step", lambda **_: reached.set())
        assert reached.wait(PATIENCE)
        for call in (sim.step_once, sim.reset, sim.clear, sim.save_state):
            with pytest.raises(fs.StateError, match="another thread"):
                call()
        with pytest.raises(fs.StateError, match="already running"):
            sim.run_simulation()
    assert run.wait().reason == "stopped"
    assert len(threads) == 1
    assert threading.current_thread().name not in threads


def test_work_between_steps_is_done_by_the_runs_thread(sim: Sim) -> None:
    agent = sim.spawn(fs.AgentSpawnParams(name="a"))
    with running(sim):
        where = sim.between_steps(lambda: (threading.current_thread(), sim.world.in_step)).result(PATIENCE)
        assert where[0] is not threading.current_thread()
        assert where[1] is False
        sim.between_steps(sim.reset).result(PATIENCE)
        sim.between_steps(lambda: sim.remove_object(agent)).result(PATIENCE)
        with pytest.raises(fs.StaleHandleError, match="a was removed"):
            sim.between_steps(agent.get_pose).result(PATIENCE)
    assert sim.between_steps(lambda: 5).result(0) == 5


def work() -> None:
    """Take more of this thread's time than there is at once for what others ask for."""
    begin = time.thread_time()
    while time.thread_time() - begin < 1.5 * SHARE:
        pass


@contextmanager
def held_up(sim: Sim) -> Iterator[None]:
    """Keep the run of `sim` from doing anything inside of the block."""
    free = Event()
    sim.between_steps(lambda: free.wait(PATIENCE))
    yield
    free.set()


def test_calls_of_a_line_hold_up_neither_steps_nor_other_lines(sim: Sim) -> None:
    done: list[tuple[str, int]] = []

    def answer(line: str) -> None:
        work()
        done.append((line, sim.step_count))

    with running(sim):
        with held_up(sim):
            asked = [
                sim.control.between_steps(partial(answer, line), line)
                for line in ("flood", "flood", "flood", "flood", "other")
            ]
        for future in asked:
            future.result(PATIENCE)
    lines, steps = zip(*done, strict=True)
    assert lines in (("flood", "other", "flood", "flood", "flood"), ("other", "flood", "flood", "flood", "flood"))
    assert sorted(set(steps)) == list(steps), "a step is made after each"


def test_calls_that_make_steps_do_not_call_each_other(sim: Sim) -> None:
    depth = deepest = 0

    def step() -> None:
        nonlocal depth, deepest
        depth += 1
        deepest = max(deepest, depth)
        sim.single_step()
        depth -= 1

    sim.pause()
    with running(sim):
        with held_up(sim):
            answers = [sim.between_steps(step) for _ in range(5)]
        for answer in answers:
            answer.result(PATIENCE)
    assert (deepest, sim.step_count) == (1, 5)


def test_single_steps_of_another_thread_make_room_for_others(sim: Sim) -> None:
    answers: list[Any] = []

    def ask(sim: Sim, dt: float) -> None:
        work()
        if not answers:
            answers.append(sim.between_steps(lambda: sim.step_count))

    sim.register_callback(ask)
    sim.pause()
    with running(sim):
        sim.single_step(4)
        assert (answers[0].result(PATIENCE), sim.step_count) == (1, 4)


def test_commands_of_others_take_turns_with_steps_and_are_repeated_as_they_came(sim: Sim) -> None:
    def put(own: bool) -> list[Any]:
        command = fs.Call(function=lambda _: (work(), sim.step_count)[1])
        return [sim.inbox.put(command if own else command.from_outside()) for _ in range(3)]

    answers = put(own=False)
    for _ in range(3):
        sim.step_once()
    assert [answer.result(0).value for answer in answers] == [0, 1, 2]
    answers = put(own=True)
    sim.step_once()
    assert [answer.result(0).value for answer in answers] == [3, 3, 3], "those of the program are all in the next step"
    log = fs.record_commands(sim)
    answers = put(own=False)
    for _ in range(3):
        sim.step_once()
    assert [entry.tick for entry in log.entries] == [4, 5, 6]
    assert all(answer.done() for answer in answers)


def test_a_run_and_single_steps_call_in_the_same_order(make_sim: MakeSim) -> None:
    def told(run: bool) -> list[str]:
        sim = make_sim()
        names: list[str] = []

        def ask(sim: Sim, dt: float) -> None:
            names.append("step")
            sim.between_steps(lambda: names.append("call"))
            if len(names) == 1:
                sim.inbox.put(fs.Reset()).add_done_callback(lambda _: names.append("reset"))

        def update(sim: Sim, dt: float) -> None:
            names.append("update")
            if len(names) > 6:
                sim.stop()

        sim.register_callback(ask)
        if run:
            sim.run_simulation(0, update)
        while not run and len(names) <= 6:
            sim.step_once()
            update(sim, 0.0)
        return names

    names = told(run=True)
    assert names == told(run=False) == ["step", "call", "reset", "update", "step", "call", "update"]


def test_what_was_put_ahead_comes_in_its_step_and_never_after_what_is_newer(sim: Sim) -> None:
    done: list[tuple[str, int]] = []

    def command(name: str) -> fs.Command:
        made = fs.Call(function=lambda _: (work(), done.append((name, sim.step_count))))
        return made.from_outside()

    sim.inbox.put(command("service"))
    sim.inbox.put_ahead([command("goal of a"), command("goal of b")])
    sim.inbox.put_ahead([command("newer goal of b")])
    for _ in range(2):
        sim.step_once()
    assert done == [("goal of a", 0), ("goal of b", 0), ("newer goal of b", 0), ("service", 0)]
    sim.inbox.put(command("service"))
    sim.inbox.put(command("another"))
    sim.inbox.put_ahead([command("goal of a")])
    for _ in range(2):
        sim.step_once()
    assert done[4:] == [("goal of a", 2), ("service", 2), ("another", 3)]


def test_calls_of_a_line_keep_their_order_where_the_run_itself_makes_the_last(sim: Sim) -> None:
    done: list[int] = []

    def answer(number: int) -> None:
        work()
        done.append(number)

    def ask(sim: Sim, dt: float) -> None:
        if sim.step_count == 0:
            for number in range(3):
                sim.between_steps(partial(answer, number))

    sim.register_callback(ask)
    sim.run_simulation(duration=0.1, update_callback=lambda sim, dt: sim.between_steps(lambda: done.append(3)))
    assert done[:4] == [0, 1, 2, 3]


def test_work_asked_for_inside_a_step_follows_it(sim: Sim) -> None:
    futures = []
    sim.register_callback(lambda sim, dt: futures.append(sim.between_steps(sim.reset)))
    sim.step_once()
    assert futures[0].result(0) is None
    assert sim.step_count == 0


def test_commands_reach_a_running_and_a_paused_simulation(sim: Sim) -> None:
    agent = sim.spawn(fs.AgentSpawnParams(name="a", motion_mode="omnidirectional"))
    with running(sim):
        goal = fs.Navigate(names=("a", "ghost"), positions=[[1, 0, 0]] * 2, orientations=[[0, 0, 0, 1]] * 2)
        ack = sim.inbox.put(goal).result(PATIENCE)
        assert ack.accepted_names == ("a",)
        assert ack.rejected == {"ghost": "unknown robot"}
        arrived = Event()
        sim.events.on("post_step", lambda **_: arrived.set() if agent.is_goal_reached() else None)
        assert arrived.wait(PATIENCE)
        sim.pause()
        sim.between_steps(lambda: None).result(PATIENCE)
        before = sim.step_count
        assert (
            sim.inbox.put(fs.SetPoses(names=("a",), positions=[[4, 0, 0]], orientations=[[0, 0, 0, 1]]))
            .result(PATIENCE)
            .ok
        )
        assert agent.get_pose().x == 4
        assert sim.step_count == before
        with pytest.raises(ZeroDivisionError):
            sim.inbox.put(fs.Call(function=lambda sim: 1 / 0)).result(PATIENCE)


def test_closing_from_another_thread_ends_the_run_first(make_sim: MakeSim) -> None:
    sim = make_sim()
    with running(sim) as run:
        sim.close()
        assert run.wait().reason == "stopped"
    with pytest.raises(fs.StateError, match="closed"):
        sim.step_once()


def test_many_threads_at_once(sim: Sim) -> None:
    sim.pause()
    with running(sim):
        futures = [sim.between_steps(lambda: sim.world.in_step) for _ in range(50)]
        threads = [Thread(target=lambda: [sim.single_step() for _ in range(25)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(future.result(PATIENCE) for future in futures)
        assert sim.step_count == 100


def test_callbacks_alone_may_come_first() -> None:
    steps: list[float] = []
    ends: list[object] = []
    with fs.MultiRobotSimulationCore(fs.SimulationParams(gui=False, timestep=0.1, target_rtf=0, duration=0.5)) as sim:
        sim.run_simulation(lambda sim, dt: steps.append(dt), ends.append)
        assert steps == [0.1] * 5
        assert ends == [sim]


# ---- How long a run takes, what it calls, and what ends it -----------------------------------------------------------


@pytest.mark.parametrize(("duration", "steps"), [(1.0, 10), (0.3, 3), (0.25, 3), (0.1 + 0.2, 3)])
def test_a_run_takes_as_many_steps_as_its_duration(sim: Sim, duration: float, steps: int) -> None:
    report = sim.run_simulation(duration)
    assert (report.steps, report.reason, report.late_steps) == (steps, "duration", 0)
    assert report.sim_time == sim.sim_time == pytest.approx(steps * 0.1)
    assert report.rtf > 0


def test_a_run_can_go_on(sim: Sim) -> None:
    for count in (1, 2, 3):
        assert sim.run_simulation(1.0).steps == 10
        assert sim.step_count == 10 * count


def test_the_duration_of_the_settings_is_the_default(make_sim: MakeSim) -> None:
    assert make_sim(duration=0.5).run_simulation().steps == 5


@pytest.mark.parametrize("duration", [-1, float("nan"), float("inf"), "long", True])
def test_bad_durations_are_refused(sim: Sim, duration: Any) -> None:
    with pytest.raises(fs.InvalidValueError, match="duration in s"):
        sim.run_simulation(duration)
    assert not sim.is_running


def test_callbacks_of_a_run(sim: Sim) -> None:
    calls: list[Any] = []
    sim.run_simulation(0.3, lambda sim, dt: calls.append((sim.step_count, dt)), lambda sim: calls.append("final"))
    assert calls == [(1, 0.1), (2, 0.1), (3, 0.1), "final"]


def test_a_run_without_end_ends_when_told(sim: Sim) -> None:
    report = sim.run_simulation(0, update_callback=lambda sim, dt: sim.stop() if sim.step_count == 7 else None)
    assert (report.steps, report.reason) == (7, "stopped")


def test_a_failing_callback_is_a_fault_like_others(make_sim: MakeSim) -> None:
    def fail(*_: object) -> None:
        raise LookupError("mine")

    sim = make_sim()
    assert sim.run_simulation(0.5, fail, fail).steps == 5
    assert sim.guard.total == 6
    final: list[int] = []
    strict = make_sim(raise_on_fault=True)
    with pytest.raises(LookupError, match="mine"):
        strict.run_simulation(0.5, fail, lambda sim: final.append(sim.step_count))
    assert final == [1]
    assert not strict.is_running
    assert strict.run_simulation(0.5).steps == 5


@pytest.mark.parametrize("engine", ["bullet", "mujoco"])
def test_ticks_until_something_comes_are_the_same_run(make_sim: MakeSim, engine: str) -> None:
    pytest.importorskip("pybullet" if engine == "bullet" else "mujoco")

    def fall(how: str) -> tuple[str, int, int]:
        sim = make_sim(physics=True, engine=engine, timestep=0.01, collision_check_frequency=0.0, monitor=False)
        ball = fs.ShapeParams("sphere", radius=0.1)
        thing = sim.spawn(fs.SimObjectSpawnParams(ball, ball, fs.Pose((0.3, 0.2, 1.0)), mass=0.7))
        heights: list[float] = []

        def is_low() -> bool:
            heights.append(thing.position[2])
            return heights[-1] < 0.4

        if how == "watched":
            # Whoever looks in between sees each tick.
            sim.register_callback(lambda sim, dt: None)
        acted: list[float] = []
        if how == "acting":
            sim.pipeline.add(System("acting", Phase.OBSERVE, acted.append, span=any_span, each=acted.append))
        if how == "one by one":
            sim.step_once()
            while not is_low():
                sim.step_once()
        else:
            sim.runner.step_until(is_low, 1000)
        first = sim.clock.tick
        assert len(heights) == first and heights == sorted(heights, reverse=True) and heights[-2] >= 0.4
        # At most so many, and none while paused.
        sim.runner.step_until(lambda: False, 7)
        assert sim.clock.tick == first + 7
        assert how != "acting" or len(acted) == first + 7
        sim.pause()
        sim.runner.step_until(lambda: False, 7)
        assert sim.clock.tick == first + 7
        return sim.state_hash(), first, len(sim.profiler.totals)

    steps, at_once, watched, acting = (fall(how) for how in ("one by one", "at once", "watched", "acting"))
    assert steps[:2] == at_once[:2] == acting[:2] and steps[1] == watched[1] > 30
    # A step has many ticks, but where somebody looks at each.
    assert (steps[2], watched[2]) == (steps[1] + 1, steps[1] + 7) and at_once[2] <= 3


def test_ctrl_c_ends_a_run_properly(sim: Sim) -> None:
    final: list[str] = []
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        report = sim.run_simulation(
            update_callback=lambda sim, dt: signal.raise_signal(signal.SIGINT) if sim.step_count == 4 else None,
            final_callback=lambda sim: final.append("final"),
        )
        assert (report.steps, report.reason, final) == (4, "interrupted", ["final"])
        sim.pause()
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
        assert sim.run_simulation().reason == "interrupted"
    finally:
        signal.signal(signal.SIGINT, old)
    sim.resume()
    assert sim.run_simulation(1.0).steps == 10
