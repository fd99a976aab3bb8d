"""How properties are tested: as many examples as ever, however slow the machine is; and a Redis for all tests.

Tests and files that are marked with `no_cover` do much the same thousands of times over, and take about half as long
when coverage is not measured meanwhile. Most of what they call is covered by the others, to which the limit applies.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.redis_server import RedisServer, find_redis

# A deadline measures the machine: under load an example takes a hundred times as long. What must not take long is
# tested by counting steps. The examples of a test share its folder, and write over what the last one left. A test that
# names checks to leave out would forget these.
checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("unhurried", deadline=None, suppress_health_check=checks)
settings.load_profile("unhurried")

# A shell starts what it runs in the background with Ctrl-C ignored; the tests of Ctrl-C would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis for all tests that do not mind one another's keys."""
    if find_redis() is None:
        pytest.skip("there is no redis-server: make redis installs it")
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()
