"""Errors for people: what was wrong, where, and what to do.

    LookalikeError
    ├── OptionError   an option's value, or two options that contradict each other
    ├── ExtraError    a library that is not installed; it is an ImportError, too
    ├── InputError    something that was read: a file, a row, a column, a type
    │   └── ItemError an item of a batch; whoever knows the batch says where it is
    ├── OutputError   something that could not be written
    ├── UnavailableError   where an index is kept cannot be reached just now; later it may
    ├── ServerError   a server that was not reached, or refuses to answer
    └── CertificateError   a run that does not vouch for itself, where that was asked for (`strict`)

Every message is one line, in which nothing acts on a terminal whatever the names and values in it are. The command line
prints it and exits with the error's `exit_code`; a traceback is never a user's answer.
"""

import signal
import threading

from lookalike.wording.printable import printable

__all__ = [
    "CertificateError",
    "ExtraError",
    "InputError",
    "ItemError",
    "LookalikeError",
    "OptionError",
    "OutputError",
    "ServerError",
    "UnavailableError",
    "failed",
]


class LookalikeError(Exception):
    """The base of every error that a user can cause and mend."""

    exit_code = 1

    def __str__(self) -> str:
        return printable(super().__str__())


class OptionError(LookalikeError, ValueError):
    """An option has a value that is not allowed, or contradicts another option."""

    exit_code = 2


class ExtraError(LookalikeError, ImportError):
    """What was asked for needs a library that an extra installs."""


class InputError(LookalikeError):
    """Something in the input is missing, broken or of the wrong type."""


class ItemError(InputError):
    """Something is wrong with an item of a batch, the one at `position`."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.position = position


def failed(function: object, error: BaseException, position: int) -> ItemError:
    """What to raise where a function of the user failed for an item, by whatever it raised."""
    name = getattr(function, "__qualname__", type(function).__name__)
    module = getattr(function, "__module__", None)
    name = name if module in (None, "__main__", "builtins") else f"{module}.{name}"
    if isinstance(error, KeyboardInterrupt) and not _own(error):
        raise error
    why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return ItemError(f"the function {name} failed with {why}", position)


def _own(error: KeyboardInterrupt) -> bool:
    """Whether a function raised it by itself: Ctrl-C comes in the main thread, and from the handler that is set."""
    in_main = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return not in_main or (not usual and type(error) is KeyboardInterrupt)


class OutputError(LookalikeError):
    """The output exists already, or could not be written whole."""


class UnavailableError(LookalikeError):
    """Where an index is kept cannot be reached, or takes nothing just now: the same may work a moment later."""


class ServerError(LookalikeError):
    """A server could not be reached, refused who asked, or failed; `code` is its word for why, if it said one."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class CertificateError(LookalikeError):
    """The parts of the certificate contradict one another, or one of them raises an alarm."""

    exit_code = 3
