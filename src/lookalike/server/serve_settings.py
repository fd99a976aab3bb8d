"""What the server was asked for: one frozen value, checked where it is made."""

from __future__ import annotations

import ipaddress
from dataclasses import asdict, dataclass, field
from typing import Any

from lookalike.errors import OptionError
from lookalike.options.allowed import Number, Whole

__all__ = ["RequestLimits", "ServeSettings", "is_loopback"]


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much one request may ask for.

    Attributes:
        max_body: bytes of a body, and of a line of a stream.
        max_item: bytes of one item, as JSON.
        max_batch: items of a batch.
        max_examined: items that are compared for the nearest of one: some tenths of a second.
        request_time: seconds in which a body has to arrive, a stream has to go on, and an end has to be found.
    """

    max_body: int = 10_000_000
    max_item: int = 1_000_000
    max_batch: int = 10_000
    max_examined: int = 200_000
    request_time: float = 30.0

    def __post_init__(self) -> None:
        for name in ("max_body", "max_item", "max_batch", "max_examined"):
            Whole(1)(name, getattr(self, name))
        Number(0.0)("request_time", self.request_time)


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Which index, where, for whom, and how much."""

    index: str
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    token_file: str | None = None
    insecure: bool = False
    seed: int | None = None
    # Seconds to wait for another process to let go of the index: one that is being restarted.
    lock_wait: float = 2.0
    limits: RequestLimits = field(default_factory=RequestLimits)

    def __post_init__(self) -> None:
        Whole(0, 65535)("port", self.port)
        Whole(1, 64)("workers", self.workers)
        if not (is_loopback(self.host) or self.token_file or self.insecure):
            raise OptionError(
                f"host is {self.host!r}, which others can reach: give --token-file, or --insecure to let everybody "
                "read and write"
            )

    @property
    def open_options(self) -> dict[str, Any]:
        """What the index has to be told when it is opened."""
        return {} if self.seed is None else {"seed": self.seed}

    def to_json(self) -> dict[str, Any]:
        """For the processes that are started."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> ServeSettings:
        """The same the other way."""
        return cls(**told | {"limits": RequestLimits(**told["limits"])})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host of this name or address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
