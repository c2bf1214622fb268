"""Lists of a world: each change is asked for, and a refused one changes nothing."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.swarm.crowd import WatchedList

Edit = Callable[[list[int]], Any]

EDITS: dict[str, Edit] = {
    "append": lambda items: items.append(9),
    "extend": lambda items: items.extend([8, 9]),
    "insert": lambda items: items.insert(1, 9),
    "remove": lambda items: items.remove(2),
    "pop": lambda items: items.pop(),
    "pop the first": lambda items: items.pop(0),
    "clear": lambda items: items.clear(),
    "sort": lambda items: items.sort(key=lambda item: -item),
    "sort backwards": lambda items: items.sort(reverse=True),
    "reverse": lambda items: items.reverse(),
    "set": lambda items: items.__setitem__(0, 9),
    "set a slice": lambda items: items.__setitem__(slice(0, 2), [7, 8, 9]),
    "delete": lambda items: items.__delitem__(-1),
    "delete a slice": lambda items: items.__delitem__(slice(None, None, 2)),
    "add to itself": lambda items: items.__iadd__([5]),
    "multiply": lambda items: items.__imul__(2),
}


class Owner:
    """Takes lists without negative numbers, and counts how often it is asked."""

    def __init__(self, *items: int) -> None:
        self.asked = 0
        self.items = WatchedList[int](self.change)
        self.items.put(items)

    def change(self, wanted: list[int]) -> None:
        self.asked += 1
        if min(wanted, default=0) < 0:
            raise InvalidValueError("no negative numbers")
        self.items.put(wanted)


@pytest.mark.parametrize("name", EDITS)
def test_every_change_is_asked_for_once_and_is_that_of_a_list(name: str) -> None:
    owner, plain = Owner(1, 2, 3), [1, 2, 3]
    answers = [EDITS[name](items) for items in (owner.items, plain)]
    assert list(owner.items) == plain
    assert owner.asked == 1
    assert isinstance(owner.items, WatchedList)
    if not name.startswith(("add", "multiply")):
        assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "edit",
    [
        lambda items: items.append(-1),
        lambda items: items.extend([4, -1]),
        lambda items: items.insert(0, -1),
        lambda items: items.__setitem__(0, -1),
        lambda items: items.__setitem__(slice(1, 2), [5, -1]),
        lambda items: items.__iadd__([-1]),
    ],
)
def test_a_refused_change_leaves_the_list_as_it_was(edit: Edit) -> None:
    owner = Owner(1, 2, 3)
    with pytest.raises(InvalidValueError, match="no negative"):
        edit(owner.items)
    assert list(owner.items) == [1, 2, 3]


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        (lambda items: items.remove(77), ValueError),
        (lambda items: items.pop(7), IndexError),
        (lambda items: items.__setitem__(7, 1), IndexError),
        (lambda items: items.__delitem__(7), IndexError),
    ],
)
def test_what_a_list_refuses_is_not_asked_for(edit: Edit, error: type[Exception]) -> None:
    owner = Owner(1, 2, 3)
    with pytest.raises(error):
        edit(owner.items)
    assert (owner.asked, list(owner.items)) == (0, [1, 2, 3])


def test_statements_that_change_in_place_keep_the_list() -> None:
    owner = Owner(1)
    items = owner.items
    items += [2]
    items *= 2
    assert items is owner.items
    assert list(items) == [1, 2, 1, 2]


def test_slices_and_copies_have_no_owner() -> None:
    owner = Owner(1, 2, 3)
    for made in (owner.items[:2], owner.items.copy(), copy.copy(owner.items), pickle.loads(pickle.dumps(owner.items))):
        assert type(made) is list
        made.append(-1)
    assert (owner.asked, list(owner.items)) == (0, [1, 2, 3])
    # In a copy of what refers to it, it is the list of its owner.
    assert copy.deepcopy({"items": owner.items})["items"] is owner.items


def test_put_asks_nobody() -> None:
    owner = Owner()
    owner.items.put(iter([-1, -2]))
    assert (owner.asked, list(owner.items)) == (0, [-1, -2])
