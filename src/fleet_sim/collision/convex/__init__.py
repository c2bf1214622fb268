"""Exact distances of bodies made of convex pieces and of surfaces, computed by kernels for all pairs in one call.

`distances.py` is the way in. `forms.py` cuts entities into convex pieces, `separation.py` measures pieces that are
apart (GJK) and `penetration.py` those that overlap (EPA); results are those of PyBullet's `getClosestPoints`.
"""
