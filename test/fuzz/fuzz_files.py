"""Targets that are files: YAML, descriptions of robots, meshes, sites. One input may be several files, see `Files`."""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from itertools import count
from pathlib import Path

from fuzz_target import ROOT, Target

from fleet_sim.base.settings import load_mapping
from fleet_sim.models import load_robot_model
from fleet_sim.models.loading import load_sdf_world
from fleet_sim.models.meshes.formats import MeshLimits
from fleet_sim.models.meshes.loading import load_mesh
from fleet_sim.warehouse.sites import read_site

SEEDS = Path(__file__).parent / "seeds"
_PART = re.compile(rb"^%% ([a-z]{1,20}(?:\.[a-z]{1,8}){1,2})\n", re.MULTILINE)


class Files:
    """Files of an input: parts that begin with a line `%% name`. They are written into a folder of their own."""

    def __init__(self) -> None:
        # In memory where that is possible: most of the time would be the disk's.
        memory = Path("/dev/shm")
        place = memory if memory.is_dir() else None
        self._folder = Path(tempfile.mkdtemp(prefix="fleet_sim-fuzz-", dir=place))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._numbers = count()

    def write(self, data: bytes, name: str) -> Path:
        """Return the first file of `data`, which is called `name` where it has no line that names it."""
        # Readers remember files by path, time and size; mutants of one second need paths of their own.
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        parts = _PART.split(data)
        named = list(zip(parts[1::2], parts[2::2], strict=True)) or [(name.encode(), data)]
        for part, content in reversed(named):
            (folder / part.decode()).write_bytes(content)
        return folder / named[0][0].decode()

    def feed(self, name: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
        """Return what has `read` read an input as files, of which the first is called `name`."""

        def feed(data: bytes) -> None:
            file = self.write(data, name)
            try:
                read(file)
            finally:
                self.clean(file)

        return feed

    def clean(self, file: Path) -> None:
        """Remove what `write` returned, and what is beside it."""
        for other in file.parent.iterdir():
            other.unlink()
        file.parent.rmdir()


def words_of(seeds: list[bytes]) -> list[bytes]:
    """Return the words in `seeds`, of which mutants are made."""
    return sorted({word for seed in seeds for word in re.findall(rb"[A-Za-z_][A-Za-z_0-9]{2,}", seed)})


def yaml_target() -> Target:
    """Return the target of YAML files of every kind."""
    seeds = [path.read_bytes() for path in sorted(ROOT.glob("config/**/*.yaml"))]
    seeds += [b"a: &a [1, 2]\nb: {<<: {c: *a}}\nc: !np pi / 2\nd: !!float 1\ne: 2001-01-01\nf: 1e-3\ng: |\n  x\n"]
    extra = [b"!np ", b"!include ", b"!relpath ", b"&a ", b"*a ", b"<<: ", b"!!int ", b"!!float ", b"!!bool ", b"? "]
    extra += [b"!!binary ", b"!!timestamp ", b"!!set ", b"[", b"{", b"- ", b": ", b"--- ", b"%YAML 1.2\n", b"'", b'"']
    extra += [b"!!python/name:os.system ", b"9**9**9 ", b"sqrt(-1) ", b"1/0 ", b"\\U00110000", b"\xef\xbb\xbf"]

    return Target(Files().feed("file.yaml", load_mapping), seeds, words_of(seeds) + extra * 5, seconds=20.0)


def urdf_target() -> Target:
    """Return the target of URDF files."""
    return _model_target(["mimic.urdf"], sorted(ROOT.glob("urdf/*.urdf")))


def sdf_target() -> Target:
    """Return the target of SDF files, read as one model and as a world."""
    return _model_target(["arm.sdf"], [])


def mjcf_target() -> Target:
    """Return the target of MJCF files."""
    return _model_target(["arm.mjcf"], [])


def xacro_target() -> Target:
    """Return the target of xacro files; each is expanded in a process of its own, so they are few."""
    return _model_target(["cart.xacro"], [], seconds=30.0)


def _model_target(names: list[str], shipped: list[Path], seconds: float = 5.0) -> Target:
    seeds = [(SEEDS / "models" / name).read_bytes() for name in names]
    seeds += [b"%% model.urdf\n" + path.read_bytes() for path in shipped]

    def read(file: Path) -> None:
        if file.suffix == ".sdf":
            load_sdf_world(file)
        load_robot_model(file)

    extra = [b"<", b"/>", b"<!--", b"&#0;", b"&lt;", b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"&b;", b'encoding="utf-16"']
    extra += [b"nan", b"inf", b"1e999", b"$(optenv HOME /)", b"package://", b"file://", b"../", b"0 0 0", b'""']
    return Target(Files().feed("model.urdf", read), seeds, words_of(seeds) + extra * 5, seconds=seconds)


def mesh_target() -> Target:
    """Return the target of mesh files."""
    limits = MeshLimits()
    seeds = [path.read_bytes() for path in sorted((SEEDS / "meshes").iterdir())]
    triangle = bytes(50)
    seeds.append(b"%% mesh.stl\n" + bytes(80) + (2).to_bytes(4, "little") + 2 * triangle)

    def read(file: Path) -> None:
        limits.fault(file)
        load_mesh(str(file))

    return Target(Files().feed("mesh.obj", read), seeds, words_of(seeds))


def site_target() -> Target:
    """Return the target of sites: maps, problems, buildings, roadmaps and their own format."""
    seeds = [path.read_bytes() for path in sorted((SEEDS / "sites").iterdir())]

    return Target(Files().feed("site.yaml", read_site), seeds, words_of(seeds))
