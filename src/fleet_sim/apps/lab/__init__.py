"""The crash lab: a cruel world around a fleet manager, and what breaks it, shrunk to a case that can be replayed.

`settings.py` has the lab file, `faults.py` what goes wrong and when, `bus.py` the broker between vehicles and manager,
`managers.py` the system under test, `run.py` one run, `oracles.py` and `protocol.py` what must never happen,
`shrink.py` the smallest case, `night.py` many runs, and `page.py` what people read.
"""
