"""The pipeline: systems in phases, timed, and steppable after anything."""

from __future__ import annotations

import pytest

from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, StateError, UnknownNameError
from fleet_sim.world.clock import Clock
from fleet_sim.world.pipeline import Phase, Pipeline, Profiler, System
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
