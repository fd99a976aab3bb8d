"""Who may do what: bearer tokens from a file, and names by which the server may be addressed where there are none.

The file has a line for each token, `read TOKEN` or `write TOKEN`; who may write may read, too. Empty lines and lines
that begin with # do not count. A file that others can read is refused, since then the tokens are no secret.

Without tokens the server answers on this machine only, and there a web page could still reach it from within a browser:
through an address of its own that it lets point here. So the request must name this machine as the one it is for.
"""

from __future__ import annotations

import hmac
import os
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Literal

from lookalike.errors import InputError, OptionError
from lookalike.server.request_error import RequestError
from lookalike.server.serve_settings import ServeSettings, is_loopback

__all__ = ["Access", "Scope", "read_tokens"]

Scope = Literal["none", "read", "write"]

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,1000}")
_CHALLENGE = {"www-authenticate": 'Bearer realm="lookalike"'}


def read_tokens(path: str) -> list[tuple[str, str]]:
    """What may be done, and the token for it, of each line."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 (the mode must be that of what is read)
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise OptionError(f"token_file is {path}, which others may read: chmod 600 {path}")
            lines = file.read().splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text") from None
    found = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or words[0] not in ("read", "write") or not _TOKEN.fullmatch(words[1]):
            # Without the line: it may have a token in it.
            raise InputError(
                f"{path}, line {number}: it must be `read TOKEN` or `write TOKEN`, with 8 or more letters and digits"
            )
        found.append((words[0], words[1]))
    if not found:
        raise InputError(f"{path} has no token: write a line such as `read TOKEN` or `write TOKEN`")
    return found


class Access:
    """Decides whether a request may do what it asks for."""

    def __init__(self, settings: ServeSettings, tokens: Iterable[tuple[str, str]] = ()) -> None:
        self._tokens = [(f"Bearer {token}".encode(), scope) for scope, token in tokens]
        self._open = settings.insecure or not is_loopback(settings.host)
        self._host = settings.host

    def check(self, headers: Mapping[bytes, bytes], needs: Scope) -> None:
        """Raise the answer to a request that may not be done."""
        if not self._tokens:
            if not self._open:
                self._check_host(headers.get(b"host", b""))
            return
        if needs == "none":
            return
        given = headers.get(b"authorization", b"")
        if given[:7].lower() == b"bearer ":
            given = b"Bearer " + given[7:].strip()
        # All are looked at, however soon one fits: how long it takes tells nothing of which.
        scopes = {scope for token, scope in self._tokens if hmac.compare_digest(token, given)}
        if not scopes:
            what = "wrong" if given else "missing"
            raise RequestError(401, "unauthorized", f"the token is {what}: send Authorization: Bearer …", _CHALLENGE)
        if needs == "write" and "write" not in scopes:
            raise RequestError(403, "forbidden", "this token allows reading only")

    def _check_host(self, host: bytes) -> None:
        name = host.decode("latin-1").lower()
        bare = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
        if not (is_loopback(bare) or bare == self._host):
            raise RequestError(
                403, "forbidden", f"the server is not {name[:100]!r}: without tokens it answers to localhost only"
            )
