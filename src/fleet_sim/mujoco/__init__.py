"""MuJoCo as the engine of dynamic bodies: the only package that imports mujoco, and only at its first use."""
