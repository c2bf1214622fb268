"""How services of simulation_interfaces answer: a result code and a reason, as the definitions name them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from simulation_interfaces.msg import Result

from fleet_sim.errors import FleetSimError, StateError, UnknownNameError
from fleet_sim.ros.interface import Bridge


class Refusal(Exception):
    """A request is rejected with a result code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


Work = Callable[[Any, Any], Awaitable["str | None"]]
"""Fills in a response. What it returns, if anything, is told beside the result OK."""


def serve(bridge: Bridge, kind: Any, name: str, work: Work) -> None:
    """Serve sim/<name> with `work`; errors become result codes."""
    bridge.serve(kind, f"sim/{name}", _answering(work))


def result_of(error: Exception) -> Result:
    """Return the result that tells of `error`."""
    code = Result.RESULT_OPERATION_FAILED
    if isinstance(error, Refusal):
        code = error.code
    elif isinstance(error, UnknownNameError):
        code = Result.RESULT_NOT_FOUND
    elif isinstance(error, StateError):
        code = Result.RESULT_INCORRECT_STATE
    return Result(result=code, error_message=str(error))


def unsupported(reason: str) -> Refusal:
    """Return the refusal of what this simulator does not do."""
    return Refusal(Result.RESULT_FEATURE_UNSUPPORTED, reason)


def _answering(work: Work) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return a service callback that fills in the response's result."""

    async def answer(request: Any, response: Any) -> Any:
        try:
            note = await work(request, response)
            result = Result(result=Result.RESULT_OK, error_message=note or "")
        except (Refusal, FleetSimError) as error:
            result = result_of(error)
        # The service that lists the features has none.
        if hasattr(response, "result"):
            response.result = result
        return response

    return answer
