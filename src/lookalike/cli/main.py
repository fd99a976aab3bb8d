"""`lookalike`: the commands, and what happens when one of them fails.

Exit codes: 0 done; 1 the input or the output is at fault; 2 an option is; 130 interrupted; 128 + N ended by signal N.
An error is one line on standard error. Nothing heavy is imported here: `--help` answers at once.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, Literal

import typer

from lookalike import __version__
from lookalike.cli import stopwatch  # noqa: F401  (it begins to count here)
from lookalike.cli.interrupts import INTERRUPTED, leave
from lookalike.cli.plain_values import PlainCommand, PlainGroup
from lookalike.cli.waiting import WAITING
from lookalike.cli.wrapping import on_standard_error
from lookalike.errors import LookalikeError
from lookalike.wording.printable import printable

__all__ = ["COMMANDS", "app", "main", "run"]

# Arrow's allocator gives every freed batch back to the system within 10 ms, and the next one is paged in anew: a tenth
# of a run. Read when Arrow is loaded; memory is given back at the end of each stage instead.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "10000")
# NumPy's BLAS starts a thread for each core, which turn on the spot for a while. Our own threads are enough.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What Typer raises for a command line that it cannot read. Recent versions carry a copy of click, older ones import
# it; the base class is reached through a name that both have.
_UsageError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


# In the order of the help; each is the function of a module of its own.
COMMANDS = ("dedup", "pairs", "clusters", "neighbors", "tune", "index", "serve", "compare", "plan", "report", "demo")
_MARKUP: Literal["markdown"] = "markdown"


class _CtrlCError(Exception):
    """Ctrl-C, by a name that Typer does not catch: it would exit without a word."""


class _Interrupt(KeyboardInterrupt):
    """What Ctrl-C raises while a command runs; a plain KeyboardInterrupt was raised by a function of the user."""


def _interrupt(number: int, frame: object) -> None:
    raise _Interrupt


class _TerminatedError(BaseException):
    """SIGTERM or SIGHUP: everything is cleaned up as after Ctrl-C."""


def _terminate(number: int, frame: object) -> None:
    raise _TerminatedError(number)


class _ClosedPipeError(Exception):
    """The reader of standard output went away (`| head`), by a name that Typer does not catch."""


class _Commands(PlainGroup):
    """The commands, each made when it is asked for: what a command takes is told in hundreds of objects."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.commands: Any = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name == "index" and self.commands[cmd_name] is None:
            from lookalike.cli.index_commands import index_commands

            self.commands[cmd_name] = typer.main.get_command(index_commands())
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            alone = typer.Typer(add_completion=False, rich_markup_mode=_MARKUP)
            function = getattr(import_module(f"lookalike.cli.{cmd_name}"), cmd_name)
            alone.command(cmd_name, cls=PlainCommand)(function)
            self.commands[cmd_name] = typer.main.get_command(alone)
        return self.commands.get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise _CtrlCError(*getattr(error, "__notes__", ())) from None
        except BrokenPipeError:
            raise _ClosedPipeError from None


app = typer.Typer(
    name="lookalike",
    cls=_Commands,
    help="Find similar items: remove near-duplicates, list similar pairs, group them. Every match is verified exactly.",
    epilog="Start with: lookalike demo",
    no_args_is_help=True,
    rich_markup_mode=_MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lookalike {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options before a command."""


def main() -> None:
    """Run the command line and exit.

    The end is made short: the interpreter need not take everything apart, which is a tenth of a second and more.
    """
    _open_streams()
    try:
        code = run()
    finally:
        WAITING.end()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # It is done: what comes now comes too late.
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_streams() -> None:
    """A stream that the caller closed (`2>&-`) leads nowhere; its number must not go to a file that is opened."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode, closefd=False, encoding="utf-8"))  # noqa: SIM115


def run() -> int:
    """Run the command line, and tell its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that has no word for a character gets a question mark, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):  # of what somebody else has left in it
                stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, leave):
            signal.signal(signal.SIGINT, _interrupt)
        for name in ("SIGTERM", "SIGHUP"):
            # As Ctrl-C: clean up, then leave.
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _terminate)
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except _UsageError as error:
        return _usage(error)
    except LookalikeError as error:
        if isinstance(error.__cause__, BrokenPipeError):
            return _nobody_reads()
        _say("; ".join([str(error), *getattr(error, "__notes__", ())]))
        return error.exit_code
    except _CtrlCError as error:
        _say(_ended("interrupted", error.args))
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        _say(_ended("interrupted"))
        return INTERRUPTED
    except _TerminatedError as error:
        _say(_ended("terminated", getattr(error, "__notes__", ())))
        return 128 + int(str(error))
    except (BrokenPipeError, _ClosedPipeError, SystemExit):  # Typer exits where `--help` finds nobody who reads
        return _nobody_reads()
    except MemoryError:
        _say("not enough memory")
        return 1
    except OSError as error:
        what = f": {error.filename}" if error.filename else " while writing the output" if error.errno else ""
        _say(f"{error.strerror or error}{what}")
        return 1


def _ended(how: str, kept: Sequence[str] = ()) -> str:
    """That a signal ended the command, and what is kept: nothing, unless the command has told otherwise."""
    return "; ".join([how, *(kept or ["no incomplete output is kept"])])


def _usage(error: Any) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        path = error.ctx.command_path if error.ctx is not None else "lookalike"
        told = _unknown_option(error) or error.format_message().rstrip(".")
        _say(f"{told} (see {path} --help)" if told.endswith("?") else f"{told}; see {path} --help")
    return int(error.exit_code)


def _unknown_option(error: Any) -> str | None:
    """What to say of an option that is not there: which one was meant, as a word that others use or as a slip."""
    if type(error).__name__ != "NoSuchOption" or error.ctx is None:
        return None
    from lookalike.options.option_table import meant
    from lookalike.wording.phrases import listed

    given, told = error.option_name.lstrip("-").replace("-", "_"), f"there is no option {error.option_name}"
    known = {each.removeprefix("--") for one in error.ctx.command.params for each in one.opts if each[:2] == "--"}
    options = [each.replace("-", "_") for each in known]
    close = meant(given, options)
    elsewhere = [name for name in COMMANDS if error.option_name in _spelled(name)]
    if elsewhere and not (close and (given in close or close in given)):
        return f"{told} here; {listed(elsewhere)} {'has' if len(elsewhere) == 1 else 'have'} it"
    return told if close is None else f"{told}; did you mean --{close.replace('_', '-')}?"


def _spelled(name: str) -> set[str]:
    """The options of a command, as they are typed."""
    made = typer.main.get_command(app)
    command = made.get_command(None, name) if isinstance(made, _Commands) else None
    return {each for one in getattr(command, "params", ()) for each in one.opts}


def _nobody_reads() -> int:
    """Not an error; and the interpreter must not complain at exit about what it could not flush."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _say(message: str) -> None:
    on_standard_error(f"lookalike: {printable(' '.join(message.split()))}")


if __name__ == "__main__":
    main()
