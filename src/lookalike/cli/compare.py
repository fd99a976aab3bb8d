"""`lookalike compare`: how similar two files are, and what they share."""

from __future__ import annotations

from typing import Annotated

import typer

from lookalike.cli import options as o

__all__ = ["compare"]


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A text file, or - .")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    shingle: o.Shingle = None,
    normalize: o.Normalize = None,
    lines: Annotated[int, typer.Option("--lines", min=0, help="How many lines to show side by side.")] = 24,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """The similarity of two files, with what they share.

    Example: lookalike compare LICENSE other/LICENSE
    """
    from lookalike.cli.side_by_side import print_side_by_side
    from lookalike.cli.terminal import announce_compiling, out, print_json
    from lookalike.errors import OptionError
    from lookalike.report.explain import compare_texts
    from lookalike.shingle import parse_shingle

    announce_compiling(quiet)
    parsed = parse_shingle(shingle or "word:5", normalize=normalize)
    if a == b == "-":
        raise OptionError("A and B are both standard input: one of them must be a file")
    texts = (_read(a), _read(b))
    found = compare_texts(*texts, parsed)
    if json:
        print_json(
            {
                "a": a,
                "b": b,
                "similarity": found.similarity,
                "identical": texts[0] == texts[1],
                "shingle": str(parsed),
                "shingles_a": found.size_a,
                "shingles_b": found.size_b,
                "shared": found.both,
                "a_in_b": found.a_in_b,
                "b_in_a": found.b_in_a,
            }
        )
        return
    console = out()
    same = "  (the files are identical)" if texts[0] == texts[1] else ""
    console.print(f"Jaccard similarity [bold]{found.similarity:.4f}[/] on {parsed} shingles{same}")
    console.print(
        f"{found.both:,} shared of {found.size_a:,} and {found.size_b:,} shingles; "
        f"{found.a_in_b:.1%} of A is in B, {found.b_in_a:.1%} of B is in A",
        soft_wrap=True,
    )
    if lines and not quiet:
        print_side_by_side(console, (a, b), texts, (found.shared_a, found.shared_b), rows=lines)


def _read(name: str) -> bytes:
    """The bytes of one text file, decompressed."""
    import pyarrow as pa

    from lookalike.config import default_memory
    from lookalike.errors import InputError
    from lookalike.io import open_files

    source = open_files([name], format="text", memory=default_memory())
    if len(source.files) != 1:
        raise InputError(f"{name} is {len(source.files)} files: compare takes two files")
    batch = next(iter(source.batches(["text"])))
    text: bytes = batch.rows.column(0).cast(pa.large_binary())[0].as_py()
    return text
