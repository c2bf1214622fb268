"""Recordings of runs in MCAP with ROS 2 messages, which need no ROS; the inputs of a run; films.

`recorder.py` takes samples in the step and hands them to another process (`writer_program.py`), so that a run hardly
waits for its recording. `recording.py` reads one back; `mcap_index.py` makes one whole that was cut off.
"""
