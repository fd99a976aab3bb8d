"""Errors for people: what was wrong, where, and what to do.

    LookalikeError
    ├── OptionError   an option's value, or two options that contradict each other
    ├── ExtraError    a library that is not installed; it is an ImportError, too
    ├── InputError    something that was read: a file, a row, a column, a type
    └── OutputError   something that could not be written

Every message is one line, in which nothing acts on a terminal whatever the names and values in it are. The command line
prints it and exits with the error's `exit_code`; a traceback is never a user's answer.
"""

from lookalike.printable import printable

__all__ = ["ExtraError", "InputError", "LookalikeError", "OptionError", "OutputError"]


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


class OutputError(LookalikeError):
    """The output exists already, or could not be written whole."""
