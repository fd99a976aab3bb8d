"""What `pairs`, `clusters` and `dedup` do alike: read the options, run the pipeline, say what was found."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lookalike.cli.terminal import announce_compiling, progress_for, say
from lookalike.errors import OptionError, OutputError
from lookalike.wording import counted

if TYPE_CHECKING:
    from lookalike.pipeline import Found

__all__ = ["check_output", "elapsed", "load_tokens", "run", "summary"]

_begun = time.perf_counter()


def elapsed() -> float:
    """Seconds since the command began, with start-up and writing."""
    return time.perf_counter() - _begun


def load_tokens(name: str | None) -> Callable[[str], Iterable[str]] | None:
    """The callable that `module:function` names; modules of the working folder count."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        raise OptionError(f"tokens is {name!r}: it must be module:function ({error})") from None
    finally:
        sys.path.pop(0)
    if not callable(function):
        raise OptionError(f"tokens is {name!r}: {attribute} is not a function")

    def tokenize(text: str) -> list[str]:
        try:
            tokens = list(function(text))
        except Exception as error:
            raise OptionError(f"tokens is {name!r}: it failed with {type(error).__name__}: {error}") from error
        if not all(isinstance(token, str) for token in tokens):
            raise OptionError(f"tokens is {name!r}: it must give strings")
        return tokens

    return tokenize


def check_output(
    output: Path | None, *, overwrite: bool, dry_run: bool, json: bool, table: bool, lines: bool = False
) -> None:
    """Refuse an output that cannot be written before hours of work, not after."""
    from lookalike.io.atomic import check_folder
    from lookalike.io.write import output_format
    from lookalike.run_folder import is_one_file

    if output is None or dry_run:
        return
    if str(output) == "-":
        if json:
            raise OptionError("json prints its report on standard output: it does not go with -o -")
        return
    parent = next((folder for folder in output.absolute().parents if folder.exists()), Path("/"))
    if not os.access(parent, os.W_OK):
        raise OutputError(f"{output} cannot be written: {parent} is not writable")
    if table:
        output_format(output)
    elif not is_one_file(output, lines=lines):
        check_folder(output, output, overwrite, run=True)
        return
    if output.exists() and not overwrite:
        raise OutputError(f"{output} exists; use --overwrite to replace it")


def run(
    inputs: list[str],
    *,
    output: Path | None,
    quiet: bool,
    format: str | None,
    skip_bad: bool,
    limit: int | None,
    tokens: str | None,
    column: list[str] | None,
    **options: Any,
) -> Found:
    """Run the pipeline on files."""
    from lookalike.config import make_config
    from lookalike.io import open_files
    from lookalike.pipeline import find

    config = make_config(tokens=load_tokens(tokens), column=column, **options)
    announce_compiling(quiet)
    source = open_files(inputs, format=format, skip_bad=skip_bad, limit=limit)
    if output is not None and str(output) != "-":
        _refuse_input(output, [*inputs, *source.files])
    return find(source, config, progress_for(quiet))


def _refuse_input(output: Path, inputs: Iterable[str]) -> None:
    """The output may replace a file that is there, but not one that is read, nor lie where the next run would read."""
    paths = [Path(name) for name in inputs]
    if output.exists() and any(path.exists() and output.samefile(path) for path in paths):
        raise OptionError(f"{output} is an input too: write somewhere else")
    for path in paths:
        if path.is_dir() and output.resolve().is_relative_to(path.resolve()):
            raise OptionError(f"{output} lies in the input folder {path}: write somewhere else")


def summary(found: Found, headline: str, *, quiet: bool) -> None:
    """What was found, how sure that is, and everything that was skipped or replaced."""
    counts, config, planned = found.counts, found.config, found.plan
    if quiet:
        return
    if planned is None:
        how = "identical items only"
    elif config.verify == "exact":
        how = f"precision 1: all verified; planned recall {planned.expected_recall:.4f} at the threshold"
    else:
        how = f"verify={config.verify}: not verified exactly; planned recall {planned.expected_recall:.4f}"
    say(f"{headline} in {elapsed():.1f} s ({how})")
    if planned is not None:
        rejected = counts.candidates - counts.matches
        below = f", {rejected:,} of them below the threshold" if config.verify != "none" else ""
        shape = f"{counted(planned.bands, 'band')} of {counted(planned.rows, 'row')}"
        say(f"  {shape}; {counted(counts.candidates, 'candidate')}{below}")
        if planned.expected_recall < 0.5:
            say(
                f"  {shape} find only {planned.expected_recall:.1%} of the pairs at {config.threshold:g}; "
                "see lookalike plan"
            )
    if counts.items == 1 and found.items.id == "path":
        say("  one text file is one item; --format lines makes an item of each line")
    notes = [
        (counts.identical, "identical to an earlier one" if planned is None else "with the same set as an earlier one"),
        (counts.empty, "without any shingle (never alike unless identical)"),
        (counts.null, "null, taken as empty"),
        (counts.short, f"shorter than {config.shingle} (one shingle, the whole)"),
        (counts.invalid_utf8, "with invalid UTF-8, replaced by U+FFFD"),
    ]
    noun = "item" if config.unit == "document" else config.unit
    for number, what in notes:
        if number:
            say(f"  {counted(number, noun)} {what}")
    if counts.skipped_rows:
        say(f"  {counted(counts.skipped_rows, 'broken row')} skipped; the first: {found.items.source.bad[0]}")
