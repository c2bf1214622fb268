"""The inbox: commands from any thread, in order, each with an answer."""

from __future__ import annotations

import sys
from concurrent.futures import CancelledError
from threading import Thread

import pytest

from fleet_sim.base.errors import InvalidValueError
from fleet_sim.world.commands import Call, Command, CommandAck, Stop
from fleet_sim.world.inbox import Inbox


class Dispatcher:
    """Calls Calls; keeps what it was given."""

    def __init__(self) -> None:
        self.applied: list[Command] = []

    def dispatch(self, command: Command) -> CommandAck:
        self.applied.append(command)
        value = command.function(None) if isinstance(command, Call) else None
        return CommandAck(command.command_id, value=value)


def test_commands_are_applied_in_order_and_answered() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    futures = [inbox.put(Stop(command_id=str(index))) for index in range(3)]
    assert len(inbox) == 3
    assert not futures[0].done()
    assert inbox.drain(dispatcher, 2) == 2
    assert futures[1].done()
    assert not futures[2].done()
    assert inbox.drain(dispatcher) == 1
    assert [future.result(0).command_id for future in futures] == ["0", "1", "2"]
    assert inbox.drain(dispatcher) == 0


@pytest.mark.parametrize("error", [ZeroDivisionError, AttributeError, OSError, KeyError, AssertionError])
def test_a_fault_in_one_command_is_its_own(error: type[Exception]) -> None:
    inbox, dispatcher = Inbox(), Dispatcher()

    def fail(sim: object) -> None:
        raise error("mine")

    bad, good = inbox.put(Call(function=fail)), inbox.put(Call(function=lambda sim: 5))
    assert inbox.drain(dispatcher) == 2
    with pytest.raises(error, match="mine"):
        bad.result(0)
    assert good.result(0).value == 5


def test_an_interrupt_loses_no_later_command() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()

    def interrupt(sim: object) -> None:
        raise KeyboardInterrupt

    inbox.put(Call(function=interrupt))
    later = inbox.put(Stop())
    with pytest.raises(KeyboardInterrupt):
        inbox.drain(dispatcher)
    inbox.drain(dispatcher)
    assert later.done()


def test_what_is_put_while_draining_waits() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    inbox.put(Call(function=lambda sim: inbox.put(Stop())))
    assert inbox.drain(dispatcher) == 1
    assert len(inbox) == 1


def test_a_cancelled_command_is_not_applied() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    future = inbox.put(Stop())
    assert future.cancel()
    inbox.drain(dispatcher)
    assert dispatcher.applied == []
    with pytest.raises(CancelledError):
        future.result(0)


def test_threads_may_put_while_another_drains() -> None:
    inbox, dispatcher = Inbox(), Dispatcher()
    threads = [Thread(target=lambda: [inbox.put(Stop()) for _ in range(500)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        inbox.drain(dispatcher)
    inbox.drain(dispatcher)
    assert len(dispatcher.applied) == 2000


def test_only_commands_are_taken() -> None:
    with pytest.raises(InvalidValueError, match="'stop'"):
        Inbox().put("stop")  # type: ignore[arg-type]


def test_commands_may_arrive_while_it_looks_at_those_that_wait() -> None:
    inbox = Inbox()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [Thread(target=lambda: [inbox.put(Stop()) for _ in range(3000)]) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            # What each step asks before it begins.
            assert not inbox.runs_code(len(inbox))
    finally:
        sys.setswitchinterval(before)
    assert len(inbox) == 9000
