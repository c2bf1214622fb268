"""Meshes with a texture, in the binary form of glTF: the only one in which viser takes pictures on surfaces."""

from __future__ import annotations

import json
import struct
from typing import Any, Final

import numpy as np

from fleet_sim.arrays import AnyArray, Bytes, Floats
from fleet_sim.images import png_bytes
from fleet_sim.meshes.mesh import Drawable

_MAGIC, _VERSION = b"glTF", 2
_JSON, _BINARY = b"JSON", b"BIN\0"
_FLOAT, _UNSIGNED_INT = 5126, 5125
_ROUGH: Final = 0.9
"""As rough as what has no texture on the page, to the eye."""


def textured_glb(drawable: Drawable, picture: Bytes, factor: Floats) -> bytes:
    """Return a mesh with the texture `picture` (H, W, 3), its last line first, as the content of a GLB file.

    The colors of the picture are multiplied with `factor` (4,), in linear light, the last its opacity.
    """
    vertices = drawable.vertices
    # In glTF, the second coordinate counts down from the upper edge of the picture.
    places = np.stack((vertices[:, 6], 1.0 - vertices[:, 7]), axis=1)
    arrays: dict[str, AnyArray] = {
        "POSITION": vertices[:, :3],
        "NORMAL": vertices[:, 3:6],
        "TEXCOORD_0": places.astype(np.float32),
        "triangles": drawable.triangles.reshape(-1).astype(np.uint32),
    }
    chunks = [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    # Its first line is at the top.
    chunks.append(png_bytes(np.ascontiguousarray(picture[::-1])))
    body = b"".join(chunk + bytes(-len(chunk) % 4) for chunk in chunks)
    head = json.dumps(_description(arrays, chunks, factor)).encode()
    head += b" " * (-len(head) % 4)
    parts = (struct.pack("<I4s", len(content), kind) + content for content, kind in ((head, _JSON), (body, _BINARY)))
    data = b"".join(parts)
    return struct.pack("<4sII", _MAGIC, _VERSION, 12 + len(data)) + data


def _description(arrays: dict[str, AnyArray], chunks: list[bytes], factor: Floats) -> dict[str, Any]:
    views, at = [], 0
    for chunk in chunks:
        views.append({"buffer": 0, "byteOffset": at, "byteLength": len(chunk)})
        at += len(chunk) + -len(chunk) % 4
    names = list(arrays)
    primitive = {"attributes": {name: names.index(name) for name in names[:3]}, "indices": 3, "material": 0}
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "materials": [_material(factor)],
        "textures": [{"source": 0}],
        "images": [{"bufferView": len(arrays), "mimeType": "image/png"}],
        "accessors": _accessors(arrays),
        "bufferViews": views,
        "buffers": [{"byteLength": at}],
    }


def _accessors(arrays: dict[str, AnyArray]) -> list[dict[str, Any]]:
    """Return what each array holds; of the positions, which come first, also the box around them."""
    accessors: list[dict[str, Any]] = [
        {
            "bufferView": number,
            "componentType": _UNSIGNED_INT if array.dtype == np.uint32 else _FLOAT,
            "count": len(array),
            "type": "SCALAR" if array.ndim == 1 else f"VEC{array.shape[1]}",
        }
        for number, array in enumerate(arrays.values())
    ]
    points = arrays["POSITION"]
    accessors[0] |= {"min": points.min(axis=0).tolist(), "max": points.max(axis=0).tolist()}
    return accessors


def _material(factor: Floats) -> dict[str, Any]:
    """Return a dull surface with the picture, times `factor` (4,); translucent where its opacity is below 1."""
    material: dict[str, Any] = {
        "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0},
            "baseColorFactor": factor.tolist(),
            "metallicFactor": 0.0,
            "roughnessFactor": _ROUGH,
        }
    }
    if factor[3] < 1.0:
        material["alphaMode"] = "BLEND"
    return material
