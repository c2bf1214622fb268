"""/sim/take_picture: a picture of the world as a PNG."""

from __future__ import annotations

from array import array
from typing import Any

from fleet_sim.errors import FleetSimError, InvalidValueError
from fleet_sim.images import png_bytes
from fleet_sim.ros.conversions import time_to_msg
from fleet_sim.ros.interface import Bridge, Interface
from fleet_sim_msgs.srv import TakePicture

LARGEST = 4096
"""The longest edge of a picture, in pixels."""


class PictureService(Interface):
    """Renders without a window. The response contains the picture: the client may run on another machine.

    The service sim/take_picture. `view` is a `camera_view_type`; without one the picture is what the window would show.
    Sizes outside 1 to 4096 pixels are rejected. The simulation waits while the picture is drawn.
    """

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        bridge.serve(TakePicture, "sim/take_picture", self._on_request)

    async def _on_request(self, request: Any, response: Any) -> Any:
        """Respond with a PNG of the scene; a wrong size is refused with a message."""
        try:
            for name in ("width", "height"):
                pixels = getattr(request, name)
                if not 1 <= pixels <= LARGEST:
                    raise InvalidValueError(f"{name}: expected 1 to {LARGEST} pixels, got {pixels}")
            png = await self._render(request)
            # As an array: of other sequences rclpy checks every single byte in Python.
            response.image.data = array("B", png)
            response.success = True
        except FleetSimError as error:
            response.message = str(error)
        response.image.header.stamp = time_to_msg(self.bridge.time.last)
        response.image.format = "png"
        return response

    async def _render(self, request: Any) -> bytes:
        """Return the picture as PNG, drawn between two steps."""
        sim, gateway = self.bridge.sim, self.bridge.gateway
        # All settings of the window's camera but the mode: a mode of "manual" would ignore the view.
        config = vars(sim.params.camera_config) | {"camera_mode": "auto", "camera_view_type": request.view}

        def take() -> bytes:
            # Without a view the picture is what the window would show.
            rgb = sim.draw_picture(request.width, request.height, config if request.view else None)
            return png_bytes(rgb)

        return await gateway.wait(gateway.between_steps(take))
