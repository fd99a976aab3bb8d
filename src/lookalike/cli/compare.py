"""`lookalike compare`: how similar two files are, and what they share."""

from __future__ import annotations

from typing import Unpack

from lookalike.cli.command_options import CompareCommand, command
from lookalike.options.option_table import checked

__all__ = ["compare"]


@command(CompareCommand)
def compare(**given: Unpack[CompareCommand]) -> None:
    """The similarity of two files, with what they share.

    Example: lookalike compare LICENSE other/LICENSE
    """
    from lookalike.cli.side_by_side import print_side_by_side
    from lookalike.cli.terminal import announce_compiling, out, print_json
    from lookalike.errors import OptionError
    from lookalike.report.explain import compare_texts
    from lookalike.shingle import parse_shingle

    values = checked(CompareCommand, given)
    a, b, lines, quiet = values["a"], values["b"], values["lines"], values["quiet"]
    announce_compiling(quiet)
    parsed = parse_shingle(values["shingle"] or "word:5", normalize=values["normalize"])
    if a == b == "-":
        raise OptionError("A and B are both standard input: one of them must be a file")
    texts = (_read(a), _read(b))
    found = compare_texts(*texts, parsed)
    if values["json"]:
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
