"""Policies are files of arrays: what is written is read, what does not fit is refused; `fleet-sim pick` plays one."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fleet_sim.apps.cli.main import main
from fleet_sim.base.errors import InvalidValueError

pytest.importorskip("gymnasium")

from fleet_sim.learning.envs.policy import MOST, Policy

SMALL = [np.array([1.0, 2.0]), np.array([2.0, 0.5]), np.array([[0.5], [1.0]]), np.array([0.25])]
SMALL += [np.array([[2.0, -3.0]]), np.array([0.1, 0.2])]
"""Two numbers, one hidden unit, two actions."""


def test_a_policy_is_kept_and_acts_by_its_layers(tmp_path: Path) -> None:
    Policy(SMALL).save(tmp_path / "a.npz")
    policy = Policy.load(tmp_path / "a.npz")
    # Normalized: 1 and, cut off, -5.
    hidden = math.tanh(0.5 * 1.0 + 1.0 * -5.0 + 0.25)
    assert policy.layers(np.array([[3.0, -7.0]]))[-1][0] == pytest.approx(
        [2.0 * hidden + 0.1, -3.0 * hidden + 0.2], abs=1e-6
    )
    assert policy.action(np.array([3.0, -7.0])) == pytest.approx([-1.0, 1.0])
    with pytest.raises(InvalidValueError, match="state"):
        policy.action(np.zeros(3))


def archive(*arrays: object) -> bytes:
    content = io.BytesIO()
    np.savez(content, *arrays)  # type: ignore[arg-type]  # also what NumPy would pickle
    return content.getvalue()


def bomb() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("arr_0.npy", bytes(MOST + 1))
    return content.getvalue()


def broken() -> bytes:
    """A bit of what is compressed is another one."""
    content = io.BytesIO()
    np.savez_compressed(content, *SMALL)
    changed = bytearray(content.getvalue())
    # Behind the header of the first file: the kind of the first block, of which there is no fourth.
    changed[30 + len("arr_0.npy") + int.from_bytes(changed[28:30], "little")] |= 0b110
    return bytes(changed)


def other(number: int, file: bytes, *, flag: int = 0, way: int = zipfile.ZIP_STORED) -> bytes:
    """A policy with another file in the place of one, packed in a `way`; `flag` is set where each is described."""
    content = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive(*SMALL))) as given, zipfile.ZipFile(content, "w") as made:
        for place, name in enumerate(given.namelist()):
            made.writestr(name, file if place == number else given.read(name), way)
    changed = bytearray(content.getvalue())
    for begin, behind in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        changed[changed.index(begin) + behind] |= flag
    return bytes(changed)


def claim(kind: str, shape: str) -> bytes:
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(16)


@pytest.mark.parametrize(
    "content",
    [
        lambda: b"no archive",
        lambda: archive(),
        lambda: archive(*SMALL[:3]),
        lambda: archive(*SMALL[:5], np.zeros(3)),
        lambda: archive(*SMALL[:5], np.array([0.1, math.nan])),
        lambda: archive(*SMALL[:5], np.array([print, print])),
        lambda: archive(*SMALL[:5], np.array(["a", "b"])),
        lambda: archive(*SMALL)[:-200],
        broken,
        bomb,
        lambda: other(0, b"no array"),
        lambda: other(0, claim("'<f8'", "(1000000000000000,)")),
        lambda: other(0, claim("[('a', '<f4'), ('b', '<f4')]", "(2,)")),
        lambda: other(0, claim("'<f8'", "(2,)"), flag=1),
        lambda: other(0, claim("'<f8'", "(2,)"), way=zipfile.ZIP_LZMA),
    ],
    ids=[
        *("text", "empty", "cut", "shapes", "nan", "code", "words", "torn", "broken", "bomb"),
        *("no array", "claim", "pairs", "locked", "lzma"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path: Path, content: Callable[[], bytes]) -> None:
    (tmp_path / "b.npz").write_bytes(content())
    with pytest.raises(InvalidValueError):
        Policy.load(tmp_path / "b.npz")


@pytest.mark.slow
def test_the_shipped_policy_picks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pick", "--episodes", "1", "--seed", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("seed 3: picked after ")
    assert said[1:] == ["1 of 1 picked"]


def test_a_view_option_without_a_view_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pick", "--port", "0"]) == 1
    assert "--view" in capsys.readouterr().err


def test_no_file_and_a_policy_of_another_arm_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Policy(SMALL).save(tmp_path / "other.npz")
    for name, said in (("none.npz", "none.npz"), ("other.npz", "2 actions, not 5")):
        assert main(["pick", str(tmp_path / name)]) == 1
        assert said in capsys.readouterr().err
