"""Addresses of indexes in Redis: what they mean, and that no password is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookalike import OptionError
from lookalike.index.redis_address import RedisAddress, is_redis, shown_path


def test_what_is_ours_is_taken_out_and_the_rest_is_redis_py_s() -> None:
    found = RedisAddress.parse("redis://me:secret@host:6380/2?name=seen&retry=0.5&socket_timeout=3")
    assert (found.url, found.name, found.retry) == ("redis://me:secret@host:6380/2?socket_timeout=3", "seen", 0.5)
    assert found.prefix == "lookalike:{seen}:"
    assert RedisAddress.parse("valkeys://host?name=a").url == "rediss://host"
    assert RedisAddress.parse("valkey://[::1]:7/?name=a").shown == "valkey://[::1]:7/?name=a"


def test_no_password_is_shown() -> None:
    for address in ("redis://me:secret@host/0?name=seen", "rediss://:secret@host?name=seen&ssl_password=secret"):
        assert "secret" not in shown_path(address)
        assert "host" in shown_path(address)
    for wrong in ("redis://me:secret@host", "redis://:secret@host:port/0?name=x", "redis://:secret@host/zero?name=a"):
        with pytest.raises(OptionError) as told:
            RedisAddress.parse(wrong)
        assert "secret" not in str(told.value)


@pytest.mark.parametrize("wrong", ["", "name=", "name=a%7Db", "name=a*", f"name={'x' * 101}", "name=a&retry=soon",
                                   "name=a&retry=-1", "name=a&retry=nan"])  # fmt: skip
def test_an_address_that_means_nothing_is_refused(wrong: str) -> None:
    with pytest.raises(OptionError):
        RedisAddress.parse(f"redis://host/0?{wrong}")


def test_folders_are_none() -> None:
    assert is_redis("redis://host")
    others: list[str | Path] = ["seen.idx", "redis", "redis:/host", Path("redis://host"), ":memory:", "s3://x/y"]
    assert not any(map(is_redis, others))
