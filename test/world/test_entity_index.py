"""Names and ids of living entities: against a plain dictionary, whatever is spawned, removed, renamed and restored."""

from __future__ import annotations

import numpy as np
import pytest

from fleet_sim.base.errors import DuplicateNameError, InvalidValueError, UnknownNameError
from fleet_sim.world.entity_index import EntityIndex
from fleet_sim.world.schema import NO_ROW, BodyColumns


class Registry:
    """An index with its columns, and beside it what it must know: the name and the row of each living id."""

    def __init__(self, capacity: int) -> None:
        self.body = BodyColumns(capacity)
        self.index = EntityIndex(self.body)
        self.known: dict[int, tuple[str | None, int]] = {}
        self.free = list(range(capacity - 1, -1, -1))
        self.next_id = 0

    def add(self, names: list[str | None]) -> None:
        rows = np.array([self.free.pop() for _ in names], np.int64)
        ids = np.arange(self.next_id, self.next_id + len(names))
        self.next_id += len(names)
        self.body.alive[rows], self.body.object_id[rows] = True, ids
        self.index.check_new(names)
        self.index.add(rows, names)
        self.known |= dict(zip(ids.tolist(), zip(names, rows.tolist(), strict=True), strict=True))

    def remove(self, ids: list[int]) -> None:
        rows = [self.known.pop(number)[1] for number in ids]
        self.index.discard(np.array(rows, np.int64))
        self.body.alive[rows] = False
        self.free += rows

    def check(self) -> None:
        assert len(self.index) == len(self.known)
        for number, (name, row) in self.known.items():
            assert self.index.row_of(number) == row
            assert self.index.names[row] == name
            if name is not None:
                assert self.index.row_named(name) == row
        assert self.index.rows_of(list(self.known)).tolist() == [row for _, row in self.known.values()]
        gone = sorted({*range(self.next_id)} - {*self.known})
        for number in gone[:5]:
            with pytest.raises(UnknownNameError):
                self.index.row_of(number)


@pytest.mark.parametrize("seed", range(6))
def test_every_living_entity_is_found_and_no_other(seed: int) -> None:
    rng, made = np.random.default_rng(seed), Registry(64)
    for turn in range(120):
        what = int(rng.integers(4))
        if what <= 1 and len(made.free) > 8:
            made.add([f"e{turn}_{place}" if rng.integers(3) else None for place in range(int(rng.integers(1, 8)))])
        elif what == 2 and made.known:
            made.remove([int(number) for number in rng.permutation(list(made.known))[: int(rng.integers(1, 10))]])
        elif made.known:
            number = int(rng.choice(list(made.known)))
            name, row = f"renamed_{turn}", made.known[number][1]
            made.index.rename(row, name)
            made.known[number] = name, row
        made.check()
    names = list(made.index.names)
    # Names of a checkpoint; what came after it is gone.
    made.index.restore(names[:40])
    made.known = {number: (names[row] if row < 40 else None, row) for number, (_, row) in made.known.items()}
    made.check()


def test_names_are_looked_up_many_at_once() -> None:
    made = Registry(8)
    made.add(["a", None, "b"])
    assert made.index.rows_named(["b", "x", "a", "b"]).tolist() == [2, NO_ROW, 0, 2]
    assert made.index.has_name("a")
    made.remove([0])
    assert not made.index.has_name("a")
    assert made.index.rows_named(["a"]).tolist() == [NO_ROW]


def test_a_fleet_spawned_at_once_is_found_by_name() -> None:
    made = Registry(4096)
    made.add(["first"])
    made.add([f"robot_{number}" for number in range(3000)])
    made.remove([2000])
    made.check()
    # Many at once, and then one by one.
    made.add(["last"])
    made.check()


def test_a_name_is_taken_once() -> None:
    made = Registry(8)
    made.add(["a", "b"])
    for names in (["a"], ["c", "c"], ["c", None, "b"]):
        with pytest.raises(DuplicateNameError, match="already taken"):
            made.index.check_new(names)
    made.index.check_new(["c", None, None, "d"])
    with pytest.raises(DuplicateNameError):
        made.index.rename(0, "b")
    assert made.index.row_named("a") == 0
    # What is free again may be taken.
    made.remove([1])
    made.index.rename(0, "b")
    assert made.index.row_named("b") == 0
    made.index.check_new(["a"])
    made.index.rename(0, None)
    assert not made.index.has_name("b")


@pytest.mark.parametrize("name", ["", 3, b"a", ["a"], True])
def test_a_name_is_a_text(name: object) -> None:
    with pytest.raises(InvalidValueError, match="a name is a text that is not empty, or None"):
        Registry(4).index.check_new(["ok", name])  # type: ignore[list-item]


@pytest.mark.parametrize("number", [1.0, "1", True, None])
def test_an_id_is_a_whole_number(number: object) -> None:
    made = Registry(4)
    made.add(["a", "b"])
    with pytest.raises(InvalidValueError, match="expected a name or an object id"):
        made.index.row_of(number)  # type: ignore[arg-type]


def test_a_wrong_name_gets_a_suggestion() -> None:
    made = Registry(4)
    made.add(["forklift"])
    with pytest.raises(UnknownNameError, match="Did you mean 'forklift'"):
        made.index.row_named("forklit")
