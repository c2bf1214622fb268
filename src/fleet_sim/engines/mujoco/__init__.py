"""MuJoCo as the engine of dynamic bodies: the only package that imports mujoco, and only at its first use.

`engine.py` is the way in and has the order of a substep, and `spec.py` says which rows share a compiled model. Joints
have PyBullet's motors (`movers.py`), so that a robot behaves alike in both engines.
"""
