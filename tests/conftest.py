"""How properties are tested: as many examples as ever, however slow the machine is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A deadline measures the machine: under load an example takes a hundred times as long. What must not take long is
# tested by counting steps.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
