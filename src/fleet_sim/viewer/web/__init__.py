"""The live view: a page in the browser, served by the process that simulates. Only this package imports viser.

`view.py` opens a page for a source, which is a simulation (`live.py`) or a recording (`recorded.py`). It reads
snapshots and asks by commands only, so it never touches the world. What a page sends is checked in `admission.py` and
`incoming.py`.
"""
