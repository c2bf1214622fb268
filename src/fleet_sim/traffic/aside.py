"""Aside: calls of code that may never return, in a thread that is kept from call to call."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Late(Exception):
    """A call has not returned within its time."""


class Aside(Generic[Answer]):
    """Makes calls one by one in a thread of its own, which ends with this object or with the program.

    A new thread for each call would cost a tenth of a millisecond, and as much again for the memory that it takes anew.
    """

    def __init__(self) -> None:
        self._close: Callable[[], object] | None = None

    def call(self, work: Callable[[], Answer], limit: float) -> Answer:
        """Return what `work` returns, or raise what it raises; raises Late after `limit` s of wall time.

        A late call goes on in its thread, which is left to it: the next call has a new one.
        """
        if self._close is None:
            self._asked, self._answers = SimpleQueue[Callable[[], Answer] | None](), SimpleQueue[Answer | _Raised]()
            # A daemon: one that never returns must not keep the program from ending.
            Thread(target=_serve, args=(self._asked, self._answers), name="planner", daemon=True).start()
            self._close = weakref.finalize(self, self._asked.put, None)
        self._asked.put(work)
        try:
            answer = self._answers.get(timeout=limit)
        except Empty:
            # Queues of its own, so that its answer is nobody's when it comes after all.
            self._close()
            self._close = None
            raise Late from None
        if isinstance(answer, _Raised):
            raise answer.error
        return answer


class _Raised:
    """What a call raised: it belongs to the thread that asks."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _serve(asked: SimpleQueue[Callable[[], Answer] | None], answers: SimpleQueue[Answer | _Raised]) -> None:
    while (work := asked.get()) is not None:
        try:
            answers.put(work())
        except BaseException as error:
            answers.put(_Raised(error))
        # Else the last problem and its arrays would live until the next one.
        del work
