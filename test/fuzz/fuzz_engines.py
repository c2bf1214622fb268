"""Target: models of robots in MuJoCo, which compiles what it is given in a C library."""

from __future__ import annotations

from fuzz_files import SEEDS, Files, words_of
from fuzz_target import ROOT, Target
from fuzz_worlds import check_columns, new_simulation

from fleet_sim import AgentSpawnParams

STEPS = 3
SOLID = b"%% tri.obj\nv 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"


def mujoco_target() -> Target:
    """Return the target: a model is spawned into a world of MuJoCo, which makes a few steps, or it is refused."""
    files = Files()
    shipped = [ROOT / "urdf" / name for name in ("arm6.urdf", "diff_base.urdf")]
    seeds = [(SEEDS / "models" / name).read_bytes() for name in ("mimic.urdf", "arm.mjcf", "arm.sdf")]
    # A triangle has no hull: MuJoCo is given a mesh with a volume.
    seeds = [seed.partition(b"%% tri.obj\n")[0] + SOLID for seed in seeds]
    seeds += [b"%% model.urdf\n" + path.read_bytes() for path in shipped]
    sim = new_simulation(engine="mujoco", physics=True)

    def feed(data: bytes) -> None:
        file = files.write(data, "model.urdf")
        try:
            sim.spawn(AgentSpawnParams(urdf_path=str(file), mass=1.0))
            for _ in range(STEPS):
                sim.step_once()
            check_columns(sim)
            # An unstable body is stopped, and counted.
            faults = [what for what in sim.guard.counts if not what.startswith("physics of ")]
            assert not faults, f"survived, but a fault: {faults}"
        finally:
            sim.clear()
            files.clean(file)

    extra = [b"nan", b"1e999", b"1e-12", b"1e12", b"0 0 0", b'""', b"-1", b"continuous", b"floating", b"planar"]
    return Target(feed, seeds, words_of(seeds) + extra * 5, seconds=20.0)
