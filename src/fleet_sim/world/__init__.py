"""The simulation core: columns, the world made of them, and the pipeline that steps it.

Read `world.py`, `schema.py` and `pipeline.py` first: the columns, what they mean, and the order of a step. Changes come
in as commands (`commands.py`, `inbox.py`) and are read as snapshots (`snapshot.py`). `features.py` is the way to bring
columns of your own. Nothing here imports PyBullet, ROS or a room above.
"""
