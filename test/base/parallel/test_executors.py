"""Each job ends once, whatever it does to its process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from parallel_jobs import broken, squares, trouble

from fleet_sim import InvalidValueError
from fleet_sim.base.parallel import Ended, Job, JobLimits, LocalExecutor


def ends(executor: LocalExecutor, begin: Any, contents: list[Any]) -> dict[int, Ended]:
    """What became of each job, which must have ended once."""
    with executor.crew(begin) as crew:
        found = list(crew.run(Job(number, content) for number, content in enumerate(contents)))
    assert sorted(ended.number for ended in found) == list(range(len(contents)))
    return {ended.number: ended for ended in found}


def test_each_job_ends_once_with_its_value() -> None:
    found = ends(LocalExecutor(2, JobLimits()), squares, list(range(50)))
    assert [found[number].value for number in range(50)] == [number * number for number in range(50)]
    assert not any(ended.error or ended.deaths for ended in found.values())


def test_an_exception_belongs_to_its_job() -> None:
    found = ends(LocalExecutor(2, JobLimits()), trouble, [("raise", "no\nroute"), ("return", 7)])
    assert found[0].error == "RuntimeError: no route"
    assert "parallel_jobs.py" in found[0].trace
    assert found[1].value == 7


def test_a_worker_that_cannot_begin_fails_each_job_with_the_reason() -> None:
    found = ends(LocalExecutor(2, JobLimits()), broken, [1, 2, 3])
    assert {ended.error for ended in found.values()} == {"ValueError: no such scenario"}


def test_a_job_whose_process_is_killed_is_made_again(tmp_path: Path) -> None:
    told = [("die once", str(tmp_path / "was here")), *[("return", number) for number in range(1, 20)]]
    found = ends(LocalExecutor(2, JobLimits()), trouble, told)
    assert (found[0].value, found[0].deaths) == ("alive", 1)
    assert [found[number].value for number in range(1, 20)] == list(range(1, 20))


def test_a_job_that_kills_its_process_each_time_fails() -> None:
    found = ends(LocalExecutor(2, JobLimits(attempts=2)), trouble, [("die", None), ("return", 1)])
    assert found[0].error == "its process died 2 times"
    assert found[1].value == 1


def test_jobs_beyond_their_limits_are_ended() -> None:
    limits = JobLimits(seconds=2.0, megabytes=600.0)
    found = ends(LocalExecutor(2, limits), trouble, [("hang", None), ("fill", 800_000_000), ("return", 3)])
    assert found[0].error == "it took longer than 2 s"
    # Filling so much memory may itself take its time on a busy machine.
    assert found[1].error in ("it took more than 600 MB of memory", "it took longer than 2 s")
    assert found[2].value == 3


def test_libraries_start_no_threads_of_their_own() -> None:
    assert ends(LocalExecutor(2, JobLimits()), trouble, [("threads", None)])[0].value == "1"


def test_closing_ends_what_runs() -> None:
    with LocalExecutor(2, JobLimits()).crew(trouble) as crew:
        jobs = crew.run([Job(0, ("return", 0)), *(Job(number, ("hang", None)) for number in (1, 2, 3))])
        assert next(jobs).value == 0
        # It would wait for ten minutes otherwise.
        jobs.close()
        # Others do the next jobs.
        assert [ended.value for ended in crew.run([Job(0, ("return", 5))])] == [5]


def test_wrong_numbers_of_processes_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="at least 1"):
        LocalExecutor(0)
