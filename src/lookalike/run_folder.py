"""Writing what `dedup` decided: the kept rows alone, or a run folder.

RUN/kept/…            the kept rows, one file for each input file, in its format and with all its columns
RUN/removed.parquet   id, kept (the id that stays in its place), similarity
RUN/pairs.parquet     a, b, similarity; left out, and said so in the report, where there are more than max_pairs
RUN/clusters.parquet  cluster, size, id, kept, similarity
RUN/report.json       what went in, what was found and how
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lookalike.errors import OptionError
from lookalike.io.atomic import atomic_folder
from lookalike.io.copy import LINE_ENDINGS
from lookalike.io.formats import endings
from lookalike.io.write import is_file, save_table
from lookalike.progress import SILENT, Progress

if TYPE_CHECKING:
    from lookalike.results import Dedup

__all__ = ["is_one_file", "write_run"]


def is_one_file(path: str | Path, *, lines: bool = False) -> bool:
    """Whether the kept rows go to one file (a text file if the input is `lines`), or to a run folder."""
    if (lines and endings(str(path))[0] in LINE_ENDINGS) or is_file(path):
        return True
    if Path(path).suffix and not Path(path).is_dir():
        raise OptionError(
            f"{path}: the ending is not one that can be written; use .parquet, .jsonl, .csv, .tsv or .arrow, "
            "or none for a run folder"
        )
    return False


def write_run(result: Dedup, path: str | Path, *, overwrite: bool = False, progress: Progress = SILENT) -> None:
    """The kept rows to a file (by its ending, or "-"), or everything to a run folder."""
    if result.goes_to_file(path) or is_one_file(path):
        result.write_kept(path, overwrite=overwrite, progress=progress)
        return
    with atomic_folder(path, overwrite=overwrite) as folder:
        result.write_kept(folder / "kept", progress=progress)
        save_table(result.removed, folder / "removed.parquet")
        if not result.report["pairs_left_out"]:
            save_table(result.pairs, folder / "pairs.parquet")
        save_table(result.clusters, folder / "clusters.parquet")
        text = json.dumps(result.report, indent=2, ensure_ascii=False)
        (folder / "report.json").write_text(text + "\n", encoding="utf-8")
