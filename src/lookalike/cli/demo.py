"""`lookalike demo`: the near-duplicates in what every machine with Python already has.

The source files of the standard library, and the licence and documentation files of the installed packages: real text,
no download.
"""

from __future__ import annotations

import sysconfig
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from unicodedata import combining

from lookalike.cli.command_options import DemoCommand, command
from lookalike.options.option_table import checked
from lookalike.wording.phrases import counted
from lookalike.wording.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from lookalike.runs.results import Clusters

__all__ = ["demo"]

_LICENCES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "AUTHORS*", "README*")


@command(DemoCommand)
def demo(**given: Unpack[DemoCommand]) -> None:
    """Find the near-duplicates in Python's own library and in the licences of the installed packages."""
    import lookalike
    from lookalike.cli.terminal import announce_compiling, out, progress_for
    from lookalike.theory import coloured_curve

    threshold, shown = (checked(DemoCommand, given)[name] for name in ("threshold", "clusters"))
    console = out()
    announce_compiling(False)
    files = _library_files() + _licence_files()
    read = {_short(path): path.read_bytes() for path in files}
    # Combining marks take the full way of shingling, whose compilation would double the wait of a first run.
    texts = {name: text for name, text in read.items() if not _has_marks(text)}
    size = sum(map(len, texts.values()))
    console.print(
        f"[bold]{len(texts):,} files[/] ({size / 1e6:.1f} MB): Python's standard library, and the licences and "
        "read-me files of the installed packages."
    )
    begun = time.perf_counter()
    result = lookalike.clusters(texts, threshold=threshold, keep="longest", progress=progress_for(False))
    seconds = time.perf_counter() - begun
    table = result.table
    planned = result.plan
    assert planned is not None
    console.print(
        f"[bold]{table.num_rows:,} of them[/] have a near-duplicate (Jaccard >= {threshold:g} on 5-word shingles), in "
        f"{counted(len(result), 'cluster')}; found in {seconds:.2f} s, each match verified."
    )
    console.print()
    _show_clusters(console, result, shown)
    _show_pair(console, result, texts)
    console.print()
    console.print(
        f"How it avoided comparing everything: {planned.bands} bands of {planned.rows} min-hashes. "
        f"{result.report['candidates']:,} candidate pairs instead of {len(texts) * (len(texts) - 1) // 2:,}."
    )
    console.print(coloured_curve(planned, width=min(console.width, 80), height=12))
    console.print("[bold]Next[/], on your own files:")
    for line in (
        "lookalike dedup docs.jsonl -o clean.jsonl              keep one of each",
        "lookalike pairs 'crawl/*.parquet' --id url -o pairs.parquet",
        "lookalike compare A.txt B.txt                          what two files share",
        "lookalike plan --threshold 0.8 --recall 0.99           understand the plan",
    ):
        console.print(f"  {line}", markup=False, highlight=False)


def _library_files() -> list[Path]:
    """The sources of the standard library, without its tests."""
    root = Path(sysconfig.get_paths()["stdlib"])
    skipped = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
    return sorted(p for p in root.rglob("*.py") if not skipped & set(p.relative_to(root).parts) and p.stat().st_size)


def _licence_files() -> list[Path]:
    """What installed packages say about themselves, and the common licences of a Debian system."""
    roots = {Path(sysconfig.get_paths()["purelib"]), Path(sysconfig.get_paths()["platlib"])}
    found = {p for root in roots for pattern in _LICENCES for p in root.rglob(pattern)}
    found |= set(Path("/usr/share/common-licenses").glob("*"))
    endings = {"", ".txt", ".md", ".rst", ".apache", ".bsd", ".mit"}
    return sorted(
        p for p in found if p.is_file() and not p.is_symlink() and p.suffix.lower() in endings and p.stat().st_size
    )


def _short(path: Path) -> str:
    """A path below the place where it was found."""
    paths = sysconfig.get_paths()
    for root in (paths["purelib"], paths["platlib"], paths["stdlib"], "/usr/share"):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return str(path)


def _show_clusters(console: Console, result: Clusters, shown: int) -> None:
    from rich.table import Table

    from lookalike.cli.wrapping import Breakable

    table = Table(header_style="bold", title="The largest clusters", title_justify="left")
    table.add_column("files", justify="right")
    table.add_column("least similar", justify="right")
    table.add_column("among them")
    groups: dict[int, list[dict[str, object]]] = {}
    for row in result.table.to_pylist():
        groups.setdefault(row["cluster"], []).append(row)
    for rows in sorted(groups.values(), key=len, reverse=True)[:shown]:
        listed = ", ".join(str(row["id"]) for row in rows[:3]) + (", …" if len(rows) > 3 else "")
        table.add_row(
            str(len(rows)), f"{min(float(str(row['similarity'])) for row in rows):.3f}", Breakable(printable(listed))
        )
    console.print(table)


def _show_pair(console: Console, result: Clusters, texts: dict[str, bytes]) -> None:
    """One pair that is alike but not the same, short enough to read."""
    from lookalike.cli.side_by_side import print_side_by_side
    from lookalike.report.explain import compare_texts
    from lookalike.shingle import parse_shingle

    rows = [row for row in result.table.to_pylist() if row["similarity"] < 0.98 and row["id"] != row["kept"]]
    if not rows:
        return
    # Of those nearest to 60 lines, a screenful or two, the one whose lines match best: it reads most easily.
    near = sorted(rows, key=lambda row: abs(texts[row["id"]].count(b"\n") - 60))[:20]
    row = max(near, key=lambda row: _matching_lines(texts[row["kept"]], texts[row["id"]]))
    pair = (texts[row["kept"]], texts[row["id"]])
    found = compare_texts(*pair, parse_shingle("word:5"))
    console.print()
    console.print(f"[bold]One pair[/] with similarity {found.similarity:.3f}:")
    print_side_by_side(console, (row["kept"], row["id"]), pair, (found.shared_a, found.shared_b), rows=18)


def _matching_lines(a: bytes, b: bytes) -> float:
    return SequenceMatcher(None, a.splitlines(), b.splitlines(), autojunk=False).ratio()


def _has_marks(text: bytes) -> bool:
    return not text.isascii() and any(map(combining, text.decode("utf-8", "replace")))
