"""A simulation with a window, reporting on its output: the program that test_drawing.py runs."""

from __future__ import annotations

import faulthandler
import signal

import fleet_sim as fs


def say(*words: object) -> None:
    """Print one line that the test waits for."""
    print("\n>", *words, flush=True)


def main() -> None:
    """Run until key presses have paused, stepped, resumed and closed the simulation."""
    faulthandler.dump_traceback_later(120.0, exit=True)
    # A test run in the background of a shell ignores Ctrl-C, and so would its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    params = fs.SimulationParams(
        gui=True, target_rtf=0.5, timestep=0.05, window_width=640, window_height=480, enable_shadows=False
    )
    with fs.MultiRobotSimulationCore(params) as sim:
        box = fs.ShapeParams("box", half_extents=(0.5, 0.5, 0.5), rgba_color=(1.0, 0.0, 0.0, 1.0))
        agent = sim.spawn(fs.AgentSpawnParams(visual_shape=box, collision_shape=box, name="a"))
        static = fs.SimObjectSpawnParams(
            visual_shape=box,
            collision_shape=box,
            name="wall",
            initial_pose=fs.Pose.from_xyz(2, 0, 0),
            collision_mode="static",
        )
        wall = sim.spawn(static)
        agent.set_velocity(0.1)
        say("view", sim.setup_camera().target)
        sim.disable_rendering()
        sim.enable_rendering()
        for event in ("paused", "resumed"):
            sim.events.on(event, lambda event=event: say(event, sim.step_count))
        sim.events.on("post_step", lambda **_: say("stepped") if sim.is_paused else None)
        faded = [False]

        def watch(sim: fs.MultiRobotSimulationCore, dt: float) -> None:
            now = sim.bullet.getVisualShapeData(wall.body_id)[0][7][3] < 0.5
            if now != faded[0]:
                faded[0] = now
                say("transparent" if now else "opaque")

        sim.register_callback(watch)
        say("ready")
        say("ended", sim.run_simulation().reason)


if __name__ == "__main__":
    main()
