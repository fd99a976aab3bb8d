"""How properties are tested: as many examples as ever, however slow the machine is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A deadline measures the machine: under load an example takes a hundred times as long. What must not take long is
# tested by counting steps. The examples of a test share its folder, and write over what the last one left. A test that
# names checks to leave out would forget these.
checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("unhurried", deadline=None, suppress_health_check=checks)
settings.load_profile("unhurried")
