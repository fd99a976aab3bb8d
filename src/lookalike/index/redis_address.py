"""Where an index in Redis is: `redis://user:password@host:port/db?name=seen`.

`name` tells the indexes of one database apart, `retry` for how many seconds a lost connection is tried again; all other
parameters are redis-py's (`socket_timeout`, `ssl_ca_certs`, …). Valkey speaks the same protocol: `valkey://` is
`redis://`, and `valkeys://`, like `rediss://`, is encrypted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from lookalike.errors import OptionError

__all__ = ["RedisAddress", "is_redis", "no_batch_run", "shown_path"]

_SCHEMES = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss"}
# What a name may have in it: nothing that means something in a pattern of keys, or ends a hash tag.
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_RETRY = 2.0
# Parameters that are as secret as a password.
_SECRET = ("password", "ssl_password")


def is_redis(path: str | Path) -> bool:
    """Whether a path is the address of an index in Redis."""
    scheme, colon, _ = str(path).partition("://")
    return bool(colon) and scheme.lower() in _SCHEMES


def no_batch_run(name: str) -> OptionError:
    """What is said where a batch run is to be compared with an index in Redis."""
    return OptionError(
        f"{name} is in Redis, and a batch run looks things up in a folder: make one with lookalike index backup, and "
        "compare with that"
    )


def shown_path(path: str | Path) -> str:
    """A path as it may be shown: without the password, if it is an address."""
    return RedisAddress.parse(str(path)).shown if is_redis(path) else str(path)


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """An address, taken apart.

    Attributes:
        url: what redis-py takes.
        name: that of the index.
        retry: for how many seconds a lost connection is tried again.
        shown: what people may see.
    """

    url: str
    name: str
    retry: float
    shown: str

    @classmethod
    def parse(cls, given: str) -> RedisAddress:
        """Take an address apart."""
        try:
            parts = urlsplit(given)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            # The address itself may have a password in it.
            raise OptionError(f"the address of Redis cannot be read: {error}") from None
        asked = dict(parse_qsl(parts.query, keep_blank_values=True))
        # Seen by whoever reads a log; the rest says nothing that helps there.
        known = {name: value for name, value in asked.items() if name not in _SECRET}
        at = f"[{host}]" if ":" in host else host
        shown = f"{parts.scheme}://{at}{'' if port is None else f':{port}'}{parts.path}"
        shown = f"{shown}?{urlencode(known)}" if known else shown
        name = asked.pop("name", "")
        if not _NAME.fullmatch(name):
            told = f"the name {name!r:.60}" if name else "no name"
            raise OptionError(f"{shown} has {told}: add ?name=NAME, of letters, digits, and _ . -")
        retry = _seconds(asked.pop("retry", None), shown)
        if not re.fullmatch(r"/?|/[0-9]+", parts.path):
            raise OptionError(f"{shown}: the number of a database must follow the host, such as /0")
        url = urlunsplit((_SCHEMES[parts.scheme], parts.netloc, parts.path, urlencode(asked), ""))
        return cls(url, name, retry, shown)

    @property
    def prefix(self) -> str:
        """What all keys begin with. What is in braces decides where a key is in a cluster: all are in one place."""
        return f"lookalike:{{{self.name}}}:"


def _seconds(given: str | None, shown: str) -> float:
    try:
        seconds = _RETRY if given is None else float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise OptionError(f"{shown}: retry must be a number of seconds, 0 to 3600")
    return seconds
