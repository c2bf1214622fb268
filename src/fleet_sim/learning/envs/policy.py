"""Trained policies for bin picking: small networks, kept as files of arrays, that need no learning library."""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np

from fleet_sim.base.arrays import Floats, array_of, as_floats, unpacked
from fleet_sim.base.errors import InvalidValueError
from fleet_sim.base.files import data_file, read_bytes, write_file

SHIPPED = "picking.npz"
"""A policy for `FrankaDelta-v0` with `observation: state`, made by examples/train_picking.py."""
PICKING = {
    "observation": "state",
    "scene": {"bin": {"objects": {"min_number_of_objects": 5, "max_number_of_objects": 10}}},
}
"""The settings that it was made for."""
MOST = 10_000_000
"""Bytes of a policy, in its file and out of it."""
FURTHEST = 5.0
"""Where normalized states are cut off."""


class Policy:
    """Layers with tanh between them: from a state (F,) to an action (A,) from -1 to 1."""

    def __init__(self, weights: list[Floats]) -> None:
        """`weights` are the mean and spread of states (F,), then a matrix (F, H) and an offset (H,) for each layer.

        Raises InvalidValueError where these do not fit together.
        """
        shapes = [weight.shape for weight in weights]
        sizes = [*shapes[0], *(size for shape in shapes[3::2] for size in shape)] if shapes else []
        wanted: list[tuple[int, ...]] = [(sizes[0],)] * 2 if sizes else []
        wanted += [shape for a, b in pairwise(sizes) for shape in ((a, b), (b,))]
        if len(sizes) < 2 or shapes != wanted or not all(np.isfinite(weight).all() for weight in weights):
            raise InvalidValueError(f"a policy has a mean, a spread, and layers that fit, all finite; got {shapes}")
        self.weights = weights

    @classmethod
    def load(cls, path: str | Path | None = None) -> Policy:
        """Return the policy in a file of `save`, or the shipped one; raises InvalidValueError."""
        file = data_file("urdf", SHIPPED) if path is None else path
        try:
            # Arrays only: what a file says is never run.
            files = unpacked(read_bytes(file, MOST), MOST)
            return cls([array_of(files[f"arr_{number}.npy"]).astype(np.float64) for number in range(len(files))])
        except (OSError, ValueError, KeyError) as error:
            raise InvalidValueError(f"{file} is no policy: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write it to a file, in single precision."""
        content = io.BytesIO()
        np.savez_compressed(content, *(weight.astype(np.float32) for weight in self.weights))
        write_file(path, content.getvalue())

    def layers(self, states: Floats) -> list[Floats]:
        """Return what each layer gives for states (N, F): the normalized states, hidden layers, actions (N, A)."""
        mean, spread, *parts = self.weights
        outputs = [np.clip((states - mean) / spread, -FURTHEST, FURTHEST)]
        for matrix, offset in zip(parts[::2], parts[1::2], strict=True):
            outputs.append(outputs[-1] @ matrix + offset)
            if 2 * len(outputs) - 2 < len(parts):
                outputs[-1] = np.tanh(outputs[-1])
        return outputs

    def act(self, states: Floats) -> Floats:
        """Return the actions (N, A) for states (N, F), from -1 to 1."""
        return np.clip(self.layers(states)[-1], -1.0, 1.0)

    def action(self, state: Floats) -> Floats:
        """Return the action (A,) for a state (F,); raises InvalidValueError for a state of another size."""
        action: Floats = self.act(as_floats(state, self.weights[0].shape, "state")[None])[0]
        return action
