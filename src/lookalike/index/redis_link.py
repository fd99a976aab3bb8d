"""The connection to Redis: many commands in one round trip, tried again where the connection is lost.

A command may be sent twice, since nobody knows whether it was done when its answer is lost. So all that is sent is such
that twice is the same as once: reads, and scripts that know what they have done (`redis_scripts.py`).
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from lookalike.errors import ExtraError, InputError, LookalikeError, OptionError, UnavailableError
from lookalike.index import redis_scripts
from lookalike.index.redis_address import RedisAddress
from lookalike.index.redis_scripts import Script

__all__ = ["Again", "Command", "RedisLink"]

Command = tuple[Any, ...]
Again: TypeAlias = "Callable[[Command], Command] | None"

# Seconds: a machine that is not there is known by then, and a script that takes longer is stuck.
_CONNECT, _ANSWER = 2.0, 10.0
# Seconds before the second, third … try after the first, which is made at once: a restarted Redis leaves connections
# that only look alive. Each is shortened by up to a half, so that those who lost it together do not come together.
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
_SCRIPTS = [each for each in vars(redis_scripts).values() if isinstance(each, Script)]
# What Redis answers while another script runs, or a replica is about to become the one that writes; the second is how
# older versions tell it from within a script.
_PASSING = ("BUSY ", "-READONLY ")
# What it answers until somebody has done something about it.
_REFUSING = ("MISCONF ", "NOREPLICAS ", "-OOM ", "-MISCONF ", "-NOREPLICAS ")


class RedisLink:
    """One Redis, for all threads of a process; connections are made as they are needed, also after a fork."""

    def __init__(self, address: RedisAddress) -> None:
        try:
            import redis
        except ImportError:
            raise ExtraError("an index in Redis needs redis-py: pip install 'lookalike[redis]'") from None
        self.address = address
        self._redis = redis
        errors = redis.exceptions
        # While it loads its data, while a cluster sorts itself out, and while it is a replica.
        self._passing = (
            errors.ConnectionError,
            errors.ClusterDownError,
            errors.TryAgainError,
            errors.AskError,
            errors.ReadOnlyError,
        )
        self._closed = False
        # Whether Redis could not be reached the last time: then one try must do, so that nobody waits for nothing.
        self._away = False
        # How often something was sent and waited for.
        self.round_trips = 0
        # Where in a cluster the keys are, once that is told.
        self._node: tuple[str, int] | None = None
        self._client = self._connected()

    def _connected(self) -> Any:
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        try:
            client = self._redis.Redis.from_url(
                self.address.url, socket_connect_timeout=_CONNECT, socket_timeout=_ANSWER, retry=Retry(NoBackoff(), 0),
            )  # fmt: skip
            # A pool looks at parameters when it connects; what is wrong with them is no failure of the connection.
            pool = client.connection_pool
            pool.connection_class(**pool.connection_kwargs)
        except (ValueError, TypeError, self._redis.exceptions.RedisError) as error:
            unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            why = (
                f"there is no parameter {unknown[1]}; there are name, retry, and those of redis-py"
                if unknown
                else error
            )
            raise OptionError(f"{self.address.shown}: {why}") from None
        if self._node is not None:
            client.connection_pool.connection_kwargs |= {"host": self._node[0], "port": self._node[1]}
        return client

    def script(self, script: Script, *arguments: Any) -> Command:
        """The command that runs a script on the index."""
        return ("EVALSHA", script.sha, 1, self.address.prefix, *arguments)

    def run(self, script: Script, *arguments: Any) -> Any:
        """Run a script; its answer."""
        return self.send([self.script(script, *arguments)])[0]

    def send(self, commands: Sequence[Command], again: Again = None, *, patient: bool = True) -> list[Any]:
        """Send commands in one go; their answers. `again` makes the command that is sent where an answer was lost.

        Raises:
            UnavailableError: if Redis cannot be reached for as long as is tried.
        """
        self._check_open()
        answers: list[Any] = [None] * len(commands)
        commands, waiting = list(commands), list(range(len(commands)))
        until = time.monotonic() + (self.address.retry if patient and not self._away else 0.0)
        tries = 0
        while True:
            why = self._try([commands[each] for each in waiting], waiting, answers)
            waiting = [each for each in waiting if isinstance(answers[each], _Unanswered)]
            if not waiting:
                self._away = False
                return answers
            # Redis forgets scripts when it starts, and tells where keys are: neither is a failure.
            if why is not None:
                if again is not None:
                    commands = [again(each) for each in commands]
                pause = _PAUSES[min(tries, len(_PAUSES) - 1)] * random.uniform(0.5, 1.0)
                if time.monotonic() + pause > until:
                    self._away = True
                    raise UnavailableError(f"{self.address.shown} cannot be reached: {why}; try again")
                time.sleep(pause)
                tries += 1

    def _try(self, commands: list[Command], which: list[int], answers: list[Any]) -> str | None:
        """Send commands once. Those that have to be sent again are left unanswered; why, if that is a failure."""
        for each in which:
            answers[each] = _UNANSWERED
        exceptions = self._redis.exceptions
        try:
            found = self._sent(commands)
        except (exceptions.AuthenticationError, exceptions.AuthorizationError) as error:
            raise InputError(f"{self.address.shown} lets nobody in like this: {error}") from None
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            # A node of a cluster may be gone for good: whoever is asked first knows the next one.
            self._move_to(None)
            self._check_open()
            return str(error) or type(error).__name__
        except exceptions.ResponseError as error:
            # To what is sent before any command, which chooses the database.
            raise self._refused(error) from None
        except (AttributeError, ValueError):
            # What redis-py raises where another thread closes the connection meanwhile.
            self._check_open()
            raise
        why, moved, forgotten = None, None, False
        for each, answer in zip(which, found, strict=True):
            if not isinstance(answer, Exception):
                answers[each] = answer
            elif isinstance(answer, exceptions.NoScriptError):
                forgotten = True
            elif isinstance(answer, exceptions.MovedError):
                moved = (answer.host, answer.port)
            elif isinstance(answer, self._passing) or any(word in str(answer) for word in _PASSING):
                why = str(answer)
            else:
                raise self._refused(answer)
        if moved is not None:
            if moved == self._node:
                return "the nodes of the cluster disagree about where the index is"
            self._move_to(moved)
        elif forgotten and why is None:
            return self._try_loading()
        return why

    def _check_open(self) -> None:
        if self._closed:
            raise InputError(f"{self.address.shown} is closed: open it again")

    def _try_loading(self) -> str | None:
        exceptions = self._redis.exceptions
        try:
            self._sent([("SCRIPT", "LOAD", each.text) for each in _SCRIPTS])
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            return str(error)
        return None

    def _sent(self, commands: Iterable[Command]) -> list[Any]:
        self.round_trips += 1
        pipeline = self._client.pipeline(transaction=False)
        for each in commands:
            pipeline.execute_command(*each)
        found: list[Any] = pipeline.execute(raise_on_error=False)
        return found

    def _move_to(self, node: tuple[str, int] | None) -> None:
        if node != self._node:
            self._node = node
            self._client.close()
            self._client = self._connected()

    def _refused(self, answer: Exception) -> LookalikeError:
        if isinstance(answer, self._redis.exceptions.OutOfMemoryError) or any(
            word in str(answer) for word in _REFUSING
        ):
            return UnavailableError(f"{self.address.shown} takes nothing at the moment: {answer}")
        if "DB index" in str(answer):
            return InputError(f"{self.address.shown}: Redis has no database of this number ({answer})")
        return InputError(f"{self.address.shown} answers: {answer}")

    def scan(self, pattern: str) -> Iterable[bytes]:
        """The keys that match a pattern, some twice."""
        found: Callable[..., Iterable[bytes]] = self._client.scan_iter
        return found(match=pattern, count=1000)

    def close(self) -> None:
        """Let go of all connections."""
        self._closed = True
        self._client.close()


class _Unanswered:
    """Stands where an answer is still to come: every value may be one."""


_UNANSWERED = _Unanswered()
