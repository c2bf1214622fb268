"""ViewStage: all that is on the pages of a view, brought up to date frame by frame."""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from threading import RLock, Semaphore

import numpy as np
import viser

from fleet_sim.config.view_params import ViewParams
from fleet_sim.viewer.web import ground
from fleet_sim.viewer.web.bodies import ShownBodies
from fleet_sim.viewer.web.choosing import meant
from fleet_sim.viewer.web.coloring import colors_of
from fleet_sim.viewer.web.inputs import show_value
from fleet_sim.viewer.web.overlays import Overlays
from fleet_sim.viewer.web.panel import Panel
from fleet_sim.viewer.web.picking import meets_floor, pick
from fleet_sim.viewer.web.session import Session
from fleet_sim.viewer.web.source import Source, ViewFrame, Wanted

log = logging.getLogger("fleet_sim.viewer")

SUNK = 0.3
"""In m below its floor, where the origin of something that stands on it may be."""

ON_THE_FLOOR = 0.1
"""A click on something that does not move, lower than this in m above the floor, is a click on the floor."""

MOST_WITH_PATHS = 200
"""Robots whose paths are shown at the beginning."""

MOST_CLICKS = 50
"""Clicks that wait to be carried out; nobody clicks so fast, and further ones are dropped."""


class ViewStage:
    """The content of all pages. Frames come from the view's thread, pages and clicks from those of the server."""

    def __init__(self, server: viser.ViserServer, source: Source, settings: ViewParams) -> None:
        self._server = server
        self._source = source
        self._settings = settings
        self._may_act = not settings.read_only
        # Held while a frame is shown, and while one looks at what is shown.
        self._lock = RLock()
        self._frame: ViewFrame | None = None
        self._sessions: dict[int, Session] = {}
        server.gui.configure_theme(
            control_layout="floating",
            control_width="medium",
            show_logo=False,
            show_share_button=False,
            brand_color=(38, 116, 217),
        )
        self._ground = ground.Ground(server)
        self._bodies = ShownBodies(server.scene)
        self._overlays = Overlays(server.scene)
        self._panel = Panel(server.gui, source, may_act=self._may_act)
        self._places = [ground.Places(server.scene, plan, number) for number, plan in enumerate(source.floor_plans)]
        self._framed: int | None = None
        self._failed = False
        # One thread: the server's pool would carry out two clicks in any order, and one may be to come after the other.
        self._clicks = ThreadPoolExecutor(1, "view_clicks")
        self._free = Semaphore(MOST_CLICKS)
        for modifier in (None, "shift"):
            # Coroutines are awaited, though its annotation leaves them out.
            server.scene.on_click(modifier=modifier)(self._click_came)  # type: ignore[arg-type]

    def close(self) -> None:
        """Carry out no more clicks."""
        self._clicks.shutdown(wait=False, cancel_futures=True)

    def wanted(self) -> Wanted:
        """Return what the next frame is to have."""
        sessions = list(self._sessions.values())
        return Wanted(
            paths=self._panel.paths.value or any(session.selected for session in sessions),
            scans=self._panel.scans.value,
            robots=frozenset(session.selected for session in sessions if session.selected),
            cameras=frozenset(session.camera for session in sessions if session.camera is not None),
        )

    # ---- pages -------------------------------------------------------------------------------------------------------

    def page_came(self, client: viser.ClientHandle) -> None:
        """Give a page that was opened what it has for itself."""
        # A page may click as soon as it has its controls; until it is known here, clicks wait.
        with self._lock:
            self._sessions[client.client_id] = Session(
                client,
                self._source,
                may_act=self._may_act,
                may_spawn=self._settings.spawning,
                height=lambda: 0.0 if self._panel.level is None else self._places[self._panel.level].plan.height,
            )

    def page_went(self, client: viser.ClientHandle) -> None:
        """Forget a page that was closed."""
        with self._lock:
            self._sessions.pop(client.client_id, None)

    async def _click_came(self, event: viser.SceneClickEvent) -> None:
        # Awaited by the server in the order of the clicks; its thread is not to wait for a frame.
        if not self._free.acquire(blocking=False):
            return
        done = self._clicks.submit(self._clicked, event)
        done.add_done_callback(lambda done: self._free.release())
        done.add_done_callback(_report)

    def _clicked(self, event: viser.SceneClickEvent) -> None:
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        with self._lock:
            session, frame = self._sessions.get(event.client_id), self._frame
            found = pick(self._bodies, origin, direction / np.linalg.norm(direction))
        if session is None or frame is None:
            return
        # Robots on an upper floor stay there: what is seen below it is seen through it.
        point = meets_floor(origin, direction, session.floor)
        if found is not None:
            index, away = found
            hit = origin + away * direction / np.linalg.norm(direction)
            if frame.snapshot.agent_mask[index] or hit[2] > session.floor + ON_THE_FLOOR:
                # What was clicked itself, where the shift key says so.
                itself = event.modifier == "shift"
                session.select(frame.snapshot.names[index if itself else meant(frame.snapshot, index, hit)])
                return
            if hit[2] >= session.floor:
                point = hit
        if point is not None:
            session.sends_to(point, queue=event.modifier == "shift", routed=self._source.routed)

    # ---- frames ------------------------------------------------------------------------------------------------------

    def show(self, frame: ViewFrame) -> None:
        """Bring all pages up to date."""
        with self._lock:
            self._frame = frame
            mode, collisions = self._panel.color_mode, self._panel.collisions.value
            self._bodies.between = self._storey()
            self._bodies.show(
                frame.snapshot, lambda snapshot, bodies: colors_of(snapshot, bodies, mode, collisions=collisions)
            )
            sessions = list(self._sessions.values())
        self._frame_scene(frame, sessions)
        overlays = self._overlays
        overlays.paths, overlays.scans = self._panel.paths.value, self._panel.scans.value
        overlays.names = self._panel.names.value
        overlays.show(frame)
        level = self._panel.level
        for number, places in enumerate(self._places):
            places.show(visible=level in (None, number), names=overlays.names)
        self._panel.show(frame)
        for session in sessions:
            self._show_session(session, frame)

    def _frame_scene(self, frame: ViewFrame, sessions: list[Session]) -> None:
        """Have pages begin where all is seen: once, and again where there is far more, or far less, than then."""
        count, before = len(frame.snapshot.names), self._framed
        if before is None or (before == 0) != (count == 0) or not before <= 2 * count <= 4 * before:
            self._framed = count
            if np.count_nonzero(frame.snapshot.agent_mask) > MOST_WITH_PATHS:
                # One sees nothing else; who wants to see them asks for them.
                show_value(self._panel.paths, False)
            self._ground.fit(ground.frame_scene(self._server, self._bodies))
            for session in sessions:
                # Others have chosen where they look from; on an empty floor nobody has.
                if not session.was_shown or before == 0:
                    session.look(self._server.initial_camera)

    def _show_session(self, session: Session, frame: ViewFrame) -> None:
        try:
            session.show(frame)
        except Exception:
            # What is wrong with one page is not to stop the others.
            if not self._failed:
                log.exception("a page could not be brought up to date; the next one is not named")
            self._failed = True

    def _storey(self) -> tuple[float, float] | None:
        """Return between which heights bodies are shown, in m; None: all of them."""
        level = self._panel.level
        if level is None:
            return None
        height = self._places[level].plan.height
        heights = sorted({places.plan.height for places in self._places})
        above = [other for other in heights if other > height]
        low = height - SUNK if height > heights[0] else -np.inf
        return low, above[0] - SUNK if above else np.inf


def _report(done: Future[None]) -> None:
    """Log what a click raised: nobody waits for it."""
    error = None if done.cancelled() else done.exception()
    if error is not None:
        log.error("a click was not carried out", exc_info=error)
