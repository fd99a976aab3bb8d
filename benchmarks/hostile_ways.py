"""How the items of a trial are handed over: in memory as they are or as a table, or in a file of some format."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

import lookalike
from benchmarks.hostile_items import Sparse
from benchmarks.hostile_trials import COLUMN, Trial

__all__ = ["documents_of", "hand_over"]

# What stands between the units of a document.
BETWEEN = {"line": "\n", "paragraph": "\n\n"}


def hand_over(trial: Trial, folder: Path, way: str, part: slice) -> Any:
    """The items of a part as a verb takes them: in memory, or the path of a file."""
    drawn, values = trial.drawn, trial.drawn.values[part]
    if trial.documents is not None:
        return ["".join(each) for each in documents_of(trial, [True] * len(values))]
    if way == "native":
        return values if drawn.array is None else drawn.array if isinstance(drawn.array, Sparse) else drawn.array[part]
    if way == "dict":
        assert trial.ids is not None
        return dict(zip(trial.ids[part], values, strict=True))
    if way == "edges":
        return _edges(trial)
    path = folder / f"items-{part.start or 0}.{'parquet' if way == 'cli' else way}"
    if way in ("npy", "npz"):
        with path.open("wb") as file:
            np.save(file, drawn.array) if way == "npy" else np.savez(file, vectors=drawn.array)
        return str(path)
    table = _table(trial, part)
    if way == "table":
        return table
    if way in ("parquet", "cli"):
        pq.write_table(table, path, row_group_size=max(1, len(values) // 2))
    elif way == "arrow":
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=max(1, len(values) // 3))
    elif way == "jsonl":
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist()), "utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(table.schema.names)
            writer.writerows([["" if cell is None else cell for cell in row.values()] for row in table.to_pylist()])
    return str(path)


def documents_of(trial: Trial, kept: list[bool]) -> list[list[str]]:
    """The documents of a trial of smaller units, with the units that are kept and what follows each."""
    assert trial.documents is not None
    whole: list[list[int]] = [[] for _ in range(max(trial.documents, default=-1) + 1)]
    for unit, document in enumerate(trial.documents):
        whole[document].append(unit)
    between = BETWEEN[trial.options["unit"]]
    return [[trial.drawn.values[i] + (between if i != units[-1] else "") for i in units if kept[i]] for units in whole]


def _edges(trial: Trial) -> Any:
    """A row for each element of each item, those of one item one after another."""
    assert trial.ids is not None
    weighed = trial.form == "bags"
    rows = [
        (name, x, float(each[x]) if weighed else 1.0)
        for name, each in zip(trial.ids, trial.drawn.values, strict=True)
        for x in (each.tolist() if isinstance(each, np.ndarray) else each)
    ]
    names, elements, weights = ([row[i] for row in rows] for i in range(3))
    large = any(not isinstance(x, str) and int(x) >= 2**63 for x in elements)
    kind = pa.string() if rows and isinstance(elements[0], str) else pa.uint64() if large else pa.int64()
    table = pa.table({"of": pa.array(names, pa.string()), "by": pa.array(elements, kind), "weight": weights})
    return lookalike.edges(table, "of", "by", *(["weight"] if weighed else []))


def _table(trial: Trial, part: slice) -> pa.Table:
    values = trial.drawn.values[part]
    columns: dict[str, Any] = {}
    if trial.ids is not None:
        columns["id"] = pa.array(trial.ids[part], pa.string())
    columns[COLUMN[trial.form]] = _column(trial, values)
    if trial.groups is not None:
        columns["grp"] = pa.array(trial.groups[part], pa.string())
    if trial.marks is not None:
        columns["mark"] = pa.array(trial.marks[part], pa.int64())
    return pa.table(columns)


def _column(trial: Trial, values: list[Any]) -> pa.Array:
    if trial.form == "text":
        if any(each is not None and not _encodes(each) for each in trial.drawn.values):
            return pa.array(
                [None if each is None else each.encode("utf-8", "surrogatepass") for each in values], pa.large_binary()
            )
        return pa.array(values, pa.string())
    plain: list[Any] = [
        None if each is None else each.tolist() if isinstance(each, np.ndarray) else each for each in values
    ]
    everything = [x for each in trial.drawn.values if each is not None for x in each]
    if trial.form == "bags":
        kind = pa.string() if any(isinstance(x, str) for x in everything) else pa.int64()
        rows = [[{"element": x, "weight": w} for x, w in each.items()] for each in plain]
        return pa.array(rows, pa.list_(pa.struct([("element", kind), ("weight", pa.float64())])))
    if trial.form == "columns":
        width = trial.drawn.array.shape[1]
        return pa.array([[int(i in each) for i in range(width)] for each in plain], pa.list_(pa.int64()))
    if trial.form == "vectors":
        single = isinstance(trial.drawn.array, np.ndarray) and trial.drawn.array.dtype != np.float64
        return pa.array(plain, pa.list_(pa.float32() if single else pa.float64()))
    if trial.form == "bits":
        return pa.array(plain, pa.list_(pa.bool_()))
    if any(isinstance(x, str) for x in everything):
        return pa.array([None if each is None else list(each) for each in plain], pa.list_(pa.string()))
    large = any(int(x) >= 2**63 for x in everything)
    return pa.array(
        [None if each is None else list(map(int, each)) for each in plain],
        pa.list_(pa.uint64() if large else pa.int64()),
    )


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
