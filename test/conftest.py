"""What all tests share."""

from hypothesis import HealthCheck, settings

# How fast examples run depends on the machine, which no test may.
settings.register_profile("fleet_sim", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fleet_sim")
