"""Textures on the page: what is sent of them, and what a browser makes of it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from painted import textured_quad

from fleet_sim.models.meshes.loading import load_mesh

pytest.importorskip("viser")
import trimesh

from fleet_sim.apps.viewer.bodies import pieces_of, textured_glb


def test_other_programs_read_what_is_sent(tmp_path: Path) -> None:
    (piece,) = pieces_of(load_mesh(str(textured_quad(tmp_path))))
    assert piece.painted is not None and len(piece.faces) == 2
    data = textured_glb(piece.painted.drawable, piece.painted.picture, np.array([1.0, 0.5, 1.0, 0.25]))
    (mesh,) = trimesh.load(BytesIO(data), file_type="glb").geometry.values()
    material = mesh.visual.material
    np.testing.assert_allclose(sorted(mesh.bounds.tolist()), [[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
    picture = np.asarray(material.baseColorTexture.convert("RGB"))
    for vertex, place in zip(mesh.vertices, mesh.visual.uv, strict=True):
        # trimesh counts v upwards, as we do.
        column, line = int(place[0] > 0.5), int(place[1] < 0.5)
        expected = (0, 0, 255) if vertex[1] > 0 else (0, 255, 0) if vertex[0] > 0 else (255, 0, 0)
        assert tuple(picture[line, column].tolist()) == expected
    np.testing.assert_allclose(np.array(material.baseColorFactor) / 255.0, [1.0, 0.5, 1.0, 0.25], atol=0.01)
    assert material.alphaMode == "BLEND" and material.metallicFactor == 0.0


def test_a_texture_that_is_no_picture_leaves_the_mesh(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (piece,) = pieces_of(load_mesh(str(textured_quad(tmp_path, b"no picture"))))
    assert piece.painted is None and len(piece.faces) == 2 and piece.tint == (1.0, 1.0, 1.0)
    assert "colors.png" in caplog.text and "without it" in caplog.text
