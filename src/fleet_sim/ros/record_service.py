"""/sim/record: begin and end a recording, in a folder that the operator names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fleet_sim.errors import InvalidValueError, StateError
from fleet_sim.facade.recording import RunRecording
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.srv import Record

LONGEST_NAME = 200


class RecordService(Interface):
    """Records one run at a time into `record_folder`; without that folder it refuses.

    The service sim/record: with a name it begins <name> in that folder, with an empty one it ends the recording. Names
    with a folder in them and files that are there already are rejected.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._recording: RunRecording | None = None
        bridge.serve(Record, "sim/record", self._on_request)

    async def _on_request(self, request: Any, response: Any) -> Any:
        gateway = self.bridge.gateway
        gateway.permissions.check_change()
        call = (lambda: self._begin(str(request.name))) if request.name else self._end
        response.path = await gateway.wait(gateway.between_steps(call))
        response.success = True
        return response

    def _begin(self, name: str) -> str:
        """Begin a recording in the node's folder and return its path.

        Raises StateError where none may be made now, and InvalidValueError for a path, or a name that is taken.
        """
        folder = self.bridge.record_folder
        if not folder:
            raise StateError("nothing may be recorded here: the node's parameter record_folder names no folder")
        # A name and no path: nothing is written outside of the folder.
        if name != Path(name).name or name.startswith(".") or len(name) > LONGEST_NAME or not name.isprintable():
            raise InvalidValueError(f"name: expected the name of a file, without a folder, got {name[:80]!r}")
        if self._recording is not None:
            raise StateError(f"{self._recording.path.name} is being recorded; end it first, with an empty name")
        path = Path(folder, name)
        # What is there may be all that is left of another run.
        if path.exists():
            raise InvalidValueError(f"name: {name!r} is there already")
        self._recording = self.bridge.sim.record(
            path,
            map_frame=self.bridge.frames.map,
            namespace=self.bridge.node.get_namespace(),
            sensors=self.bridge.record_sensors,
        )
        return str(path)

    def _end(self) -> str:
        recording, self._recording = self._recording, None
        if recording is None:
            raise StateError("nothing is being recorded")
        recording.close()
        return str(recording.path)
