"""The pipeline: systems in phases, timed, and steppable after anything."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_sim.base.arrays import Floats
from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StateError, UnknownNameError
from fleet_sim.world.clock import Clock, RandomStreams, normal_rows, normals, purpose_key, uniforms
from fleet_sim.world.pipeline import Phase, Pipeline, Profiler, System
from fleet_sim.world.user_code import EntityEvents, EventBus, FaultGuard
from fleet_sim.world.world import World


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline(World(Clock(0.1)))


def test_phases_are_in_order_and_systems_within_them_as_added(pipeline: Pipeline) -> None:
    run: list[tuple[str, Phase | None]] = []
    for name, phase in (("o", Phase.OBSERVE), ("u1", Phase.UPDATE), ("c", Phase.COLLIDE), ("u2", Phase.UPDATE)):
        pipeline.add(System(name, phase, lambda dt, name=name: run.append((name, pipeline.phase))))
    pipeline.add(System("u0", Phase.UPDATE, lambda dt: run.append(("u0", pipeline.phase))), before="u1")
    pipeline.step(0.1)
    assert [name for name, _ in run] == ["u0", "u1", "u2", "c", "o"]
    assert run[0][1] is Phase.UPDATE
    assert run[4][1] is Phase.OBSERVE
    assert pipeline.phase is None
    assert list(pipeline.times) == ["u0", "u1", "u2", "c", "o"]


def test_wrong_systems_are_refused(pipeline: Pipeline) -> None:
    pipeline.add(System("a", Phase.UPDATE, print))
    with pytest.raises(DuplicateNameError, match="'a'"):
        pipeline.add(System("a", Phase.FLUSH, print))
    with pytest.raises(UnknownNameError, match="system 'b'"):
        pipeline.add(System("c", Phase.UPDATE, print), before="b")
    with pytest.raises(StateError, match="another phase"):
        pipeline.add(System("c", Phase.FLUSH, print), before="a")
    with pytest.raises(UnknownNameError, match="system 'b'"):
        pipeline.remove("b")
    pipeline.remove("a")
    assert pipeline.systems == ()
    assert pipeline.times == {}


def test_changes_in_a_step_count_from_the_next(pipeline: Pipeline) -> None:
    run: list[str] = []

    def first(dt: float) -> None:
        run.append("first")
        pipeline.remove("first")
        pipeline.add(System("second", Phase.UPDATE, lambda dt: run.append("second")))

    pipeline.add(System("first", Phase.UPDATE, first))
    pipeline.step(0.1)
    assert run == ["first"]
    pipeline.step(0.1)
    assert run == ["first", "second"]


def test_a_system_that_is_not_wanted_is_passed_over_until_it_is(pipeline: Pipeline) -> None:
    waiting: list[int] = []
    done: list[int] = []
    pipeline.add(System("works it off", Phase.UPDATE, lambda dt: done.append(waiting.pop()), waiting.__len__))
    pipeline.add(System("adds", Phase.OBSERVE, lambda dt: waiting.append(len(done))))
    pipeline.step(0.1)
    assert not done
    assert pipeline.times["works it off"] == 0.0 < pipeline.times["adds"]
    pipeline.step(0.1)
    assert done == [0]
    assert pipeline.times["works it off"] > 0.0


def test_a_failing_system_ends_the_step_but_not_the_world(pipeline: Pipeline) -> None:
    broken = [True]

    def work(dt: float) -> None:
        if broken.pop():
            broken.append(False)
            raise OSError("disk")

    pipeline.add(System("work", Phase.UPDATE, work))
    with pytest.raises(OSError, match="disk"):
        pipeline.step(0.1)
    assert pipeline.phase is None
    broken[:] = [False]
    pipeline.step(0.1)


def test_a_step_inside_a_step_is_refused(pipeline: Pipeline) -> None:
    pipeline.add(System("nested", Phase.UPDATE, pipeline.step))
    with pytest.raises(StateError, match="inside a step"):
        pipeline.step(0.1)


def test_own_entries_of_the_profile_last_one_step(pipeline: Pipeline) -> None:
    profiler = Profiler(pipeline)
    pipeline.step(0.1)
    profiler.end_step()
    profiler.record("mine", 1.5)
    assert profiler.stats()["mine"] == 1.5
    assert len(profiler.totals) == 1
    assert "ms" in profiler.summary()
    profiler.begin_step()
    assert "mine" not in profiler.stats()
    for name in ("total", "agent_update", "phase1_update", "systems"):
        with pytest.raises(InvalidValueError, match=name):
            profiler.record(name, 1.0)
    with pytest.raises(InvalidValueError, match="mine"):
        profiler.record("mine", float("nan"))


# ---- Times and rates are exact, whatever floats do -------------------------------------------------------------------


def test_time_does_not_drift() -> None:
    clock = Clock(0.1)
    clock.tick = 3_000_000
    assert clock.time == 300_000.0
    assert clock.seconds(3) == 0.3


def test_a_240th_is_a_240th() -> None:
    clock = Clock(1 / 240)
    clock.tick = 240 * 86_400
    assert clock.time == 86_400.0
    assert clock.ticks(1.0) == 240


@given(
    start=st.integers(0, 100_000), steps=st.integers(0, 100_000), dt=st.sampled_from([0.1, 0.05, 0.02, 1 / 240, 1 / 3])
)
def test_sums_of_times_end_in_the_expected_step(start: int, steps: int, dt: float) -> None:
    clock = Clock(dt)
    assert clock.ticks(clock.seconds(start) + clock.seconds(steps)) == start + steps


def test_part_of_a_step_takes_a_whole_one() -> None:
    assert [Clock(0.1).ticks(seconds) for seconds in (0.0, 0.01, 0.1, 0.11)] == [0, 1, 1, 2]


@given(
    frequency=st.sampled_from([0.5, 1.0, 3.0, 7.0, 9.9, 10.0]),
    dt=st.sampled_from([0.1, 0.05, 1 / 240]),
    late=st.integers(0, 1000),
)
def test_schedules_fire_exactly(frequency: float, dt: float, late: int) -> None:
    clock = Clock(dt)
    clock.tick = late
    schedule = clock.schedule(frequency)
    elapsed = []
    for _ in range(2400):
        seconds = schedule.poll()
        if seconds is not None:
            elapsed.append(seconds)
        clock.tick += 1
    per_step = Fraction(frequency).limit_denominator(100) * Fraction(dt).limit_denominator(1000)
    assert len(elapsed) == 2400 * per_step // 1
    assert sum(elapsed) <= clock.seconds(2400) + 1e-9
    assert min(elapsed) > 1 / frequency - dt


def test_no_frequency_means_each_step() -> None:
    clock = Clock(0.1)
    schedule = clock.schedule(None)
    assert schedule.poll() == 0.1
    clock.tick = 3
    assert schedule.poll() == pytest.approx(0.3)


def test_faster_than_the_steps_is_once_per_step() -> None:
    clock = Clock(0.1)
    schedule = clock.schedule(25.0)
    for tick in range(10):
        clock.tick = tick
        assert schedule.poll() == 0.1


@pytest.mark.parametrize("frequency", [0.0, -1.0, float("nan"), "often", True])
def test_bad_frequencies_are_refused(frequency: float) -> None:
    with pytest.raises(InvalidValueError, match="frequency in Hz"):
        Clock(0.1).schedule(frequency)


# ---- Event buses: a defined order, and handlers that do not disturb each other ---------------------------------------


def test_priority_first_then_order_of_registration() -> None:
    bus, called = EventBus(FaultGuard()), []
    for name, priority in (("late", 5), ("first", -1), ("a", 0), ("b", 0)):
        bus.on("e", lambda name=name: called.append(name), priority)
    bus.emit("e")
    assert called == ["first", "a", "b", "late"]


def test_a_handler_that_noted_events_may_act_when_it_is_added_again() -> None:
    bus, called = EventBus(FaultGuard()), list[str]()
    bus.note("e", called.append)
    assert bus.has_handlers("e") and not bus.may_act("e")
    bus.off("e", called.append)
    bus.on("e", called.append)
    assert bus.may_act("e", "other") and not bus.may_act("other")


def test_a_failing_handler_does_not_stop_the_others() -> None:
    guard = FaultGuard()
    bus, called = EventBus(guard), []

    def fail(**details: object) -> None:
        raise OSError("no")

    bus.on("e", fail)
    bus.on("e", lambda **details: called.append(details))
    bus.emit("e", value=3)
    assert called == [{"value": 3}]
    assert guard.total == 1


def test_changes_while_emitting_count_from_the_next_time() -> None:
    bus, called = EventBus(FaultGuard()), []

    def once() -> None:
        called.append("once")
        bus.off("e", once)
        bus.on("e", lambda: called.append("new"))

    bus.on("e", once)
    bus.on("e", lambda: called.append("second"))
    bus.emit("e")
    assert called == ["once", "second"]
    bus.emit("e")
    assert called == ["once", "second", "second", "new"]


def test_forgetting() -> None:
    bus = EventBus(FaultGuard())
    handler = bus.on("a", print)
    bus.on("b", print)
    assert bus
    assert bus.has_handlers("a")
    assert bus.off("a", handler)
    assert not bus.off("a", handler)
    assert not bus.has_handlers("a")
    bus.clear("b")
    assert not bus
    bus.on("c", print)
    bus.clear()
    assert not bus


def test_a_handler_must_be_callable() -> None:
    with pytest.raises(InvalidValueError, match="handler of event 'a'"):
        EventBus(FaultGuard()).on("a", 3)  # type: ignore[arg-type]


def test_entities_have_buses_of_their_own() -> None:
    events, called = EntityEvents(FaultGuard()), []
    events.bus(7).on("e", lambda: called.append(7))
    events.bus(2).on("e", lambda: called.append(2))
    events.emit(7, "e")
    events.emit(1, "e")
    assert called == [7]
    assert events.listening("e") == [2, 7]
    assert len(events) == 2
    events.discard(7)
    assert events.listening("e") == [2]


# ---- Random streams and numbers as functions: one seed, and purposes that do not disturb each other ------------------


# ---- streams ---------------------------------------------------------------------------------------------------------


def test_a_stream_does_not_depend_on_the_others() -> None:
    plain, busy = RandomStreams(7), RandomStreams(7)
    busy.stream("noise").random(100)
    assert plain.stream("grid").random(5).tolist() == busy.stream("grid").random(5).tolist()


def test_purposes_and_seeds_differ() -> None:
    draws = {
        tuple(RandomStreams(seed).stream(purpose).random(3).tolist()) for seed in (1, 2) for purpose in ("a", "b", "")
    }
    assert len(draws) == 6
    keys = {purpose_key(seed, f"{word} {number}") for seed in range(20) for word in "abc" for number in range(100)}
    assert len(keys) == 6000


def test_going_back_repeats_the_draws() -> None:
    streams = RandomStreams(3)
    streams.stream("a").random(10)
    saved = streams.save()
    expected = streams.stream("a").random(4).tolist(), streams.stream("late").random(2).tolist()
    streams.restore(saved)
    assert (streams.stream("a").random(4).tolist(), streams.stream("late").random(2).tolist()) == expected


def test_the_keys_are_those_of_every_machine_and_release() -> None:
    assert RandomStreams(7).key("grid") == purpose_key(7, "grid") == 9242644004955782792
    assert uniforms(9242644004955782792, 3, 5).tolist() == [0.28660107679933566]


# ---- numbers as functions --------------------------------------------------------------------------------------------

KEYS = np.array([purpose_key(1, f"sensor {number}") for number in range(200)], np.uint64)


@pytest.mark.parametrize("draw", [uniforms, normals])
def test_they_do_not_depend_on_company_or_order(draw: Callable[..., Floats]) -> None:
    ids, counts = np.arange(50), np.arange(50) % 7
    together = draw(3, ids, counts)
    order = np.random.default_rng(1).permutation(50)
    assert draw(3, ids[order], counts[order]).tolist() == together[order].tolist()
    assert [float(draw(3, ids[k : k + 1], counts[k : k + 1])[0]) for k in range(50)] == together.tolist()
    assert draw(np.full(50, 3, np.uint64), ids, counts).tolist() == together.tolist()


@given(st.integers(1, 9), st.integers(0, 2**40), st.integers(1, 70), st.integers(0, 9))
def test_rows_are_the_same_numbers(keys: int, ids: int, count: int, lane: int) -> None:
    rows = normal_rows(KEYS[:keys], ids, count, lane)
    assert rows.tolist() == normals(KEYS[:keys, None], ids, np.arange(count), lane).tolist()
    assert normal_rows(KEYS[:1], ids, count, lane).tolist() == rows[:1].tolist()
    # Asked for more, the first ones stay.
    assert normal_rows(KEYS[:keys], ids, count + 3, lane)[:, :count].tolist() == rows.tolist()


def alike(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


def test_uniforms_are_spread_evenly_whatever_is_counted_up() -> None:
    """Keys, ids, counts and lanes that follow each other give numbers that know nothing of each other."""
    span = np.arange(200)
    tables = {
        "ids and counts": uniforms(5, span[:, None], span),
        "keys and counts": uniforms(span.astype(np.uint64)[:, None], 9, span),
        "purposes and ids": uniforms(KEYS[:, None], span, 2),
        "lanes and ids": np.stack([uniforms(5, span, 1, lane) for lane in range(200)]),
    }
    for name, table in tables.items():
        assert table.min() >= 0.0 and table.max() < 1.0
        assert np.histogram(table, 20, (0.0, 1.0))[0] == pytest.approx(2000, abs=200), name
        assert alike(table[:, :-1], table[:, 1:]) == pytest.approx(0.0, abs=0.02), name
        assert alike(table[:-1], table[1:]) == pytest.approx(0.0, abs=0.02), name
        assert len(np.unique(table)) == table.size
    assert alike(tables["ids and counts"], uniforms(5, span[:, None], span, 1)) == pytest.approx(0.0, abs=0.02)
    assert alike(tables["ids and counts"], uniforms(6, span[:, None], span)) == pytest.approx(0.0, abs=0.02)


def test_normals_are_normal_and_independent() -> None:
    drawn = normal_rows(np.arange(2000, dtype=np.uint64), 7, 51)
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.std() - 1.0) < 0.01
    assert abs((drawn**3).mean()) < 0.05
    assert abs((drawn**4).mean() - 3.0) < 0.1
    assert abs(alike(drawn[:-1], drawn[1:])) < 0.01
    # Neighbours come from one pair of uniform numbers, so neither they nor their sizes may go together.
    assert abs(alike(drawn[:, 0:50:2], drawn[:, 1:50:2])) < 0.015
    assert abs(alike(drawn[:, 0:50:2] ** 2, drawn[:, 1:50:2] ** 2)) < 0.015
    for other in (normal_rows(np.arange(2000, dtype=np.uint64), 8, 51), normal_rows(KEYS.repeat(10) + 1, 7, 51)):
        assert abs(alike(drawn, other)) < 0.01
    assert abs(alike(drawn, normal_rows(np.arange(2000, dtype=np.uint64), 7, 51, lane=1))) < 0.01
