"""The bits of a run are those of its recipe: another process makes them of a batch and the recipe's JSON alone."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lookalike.config import make_config
from lookalike.engines.local.pipeline import _LocalRun
from lookalike.engines.local.sketch_pass import sketch
from lookalike.engines.local.store.work_folder import Work
from lookalike.io import open_source
from lookalike.items.make_items import make_items
from lookalike.measures.sketch_batch import sketch_batch
from lookalike.recipe import Recipe
from lookalike.represent.document_counts import Frequencies
from lookalike.types import U32Array, U64Array
from lookalike.wording.progress import SILENT

RNG = np.random.default_rng(8)
WORDS = [f"w{number}" for number in range(60)]
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(0, 40))) for _ in range(700)]
VECTORS = RNG.normal(size=(300, 20)).astype(np.float32)
VECTORS[[7, 9]] = 0.0
BAGS = [[(word, 1.5) for word in sorted(set(text.split()))[:9]] for text in TEXTS]
ROWS = {
    "text": pa.table({"text": [*TEXTS, None], "language": [str(number % 3) for number in range(701)]}),
    "sets": pa.table({"items": [list(map(int, RNG.integers(0, 50, 12))) for _ in range(300)]}),
    "bags": pa.table({"items": pa.array(BAGS, pa.map_("string", "float"))}),
    "vectors": pa.table({"vector": pa.array(list(VECTORS), pa.list_(pa.float32(), 20))}),
    "bits": pa.table({"bits": pa.array([row.tobytes() for row in VECTORS[:, :4]], pa.binary(16))}),
}  # fmt: skip
SHAPE = {"bands": 6, "rows": 3}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "text": ("text", SHAPE),
    "characters, secret seed": ("text", {"shingle": "char:5:bag", "seed": 2**120 + 17, **SHAPE}),
    "groups": ("text", {"group_by": "language", **SHAPE}),
    "paragraphs": ("text", {"unit": "line", **SHAPE}),
    "weighed": ("text", {"measure": "weighted-jaccard", "shingle": "word:1", **SHAPE}),
    "cosine of text": ("text", {"measure": "cosine", "weights": "bm25", "shingle": "word:1", **SHAPE}),
    "frequent shingles left out": ("text", {"max_share": 0.3, "shingle": "word:1", **SHAPE}),
    "containment": ("text", {"measure": "containment"}),
    "identical": ("text", {"exact": True, "normalize": "lower"}),
    "sets": ("sets", SHAPE),
    "bags": ("bags", SHAPE),
    "cosine": ("vectors", {"skip_bad": True, **SHAPE}),
    "euclidean": ("vectors", {"measure": "euclidean", "max_distance": 2.0, **SHAPE}),
    "lr:1.5": ("vectors", {"measure": "lr:1.5", "max_distance": 2.0, **SHAPE}),
    "hamming": ("bits", SHAPE),
}


@dataclass(frozen=True)
class Bits:
    """What a run kept of its items, and what it takes to make them again."""

    recipe: Recipe
    frequencies: Frequencies | None
    columns: tuple[str, ...]
    group_by: str | None
    fingerprints: U64Array
    sizes: U32Array
    keys: U64Array
    # Items that cannot be compared have fingerprints that no other item has, wherever it is.
    good: Any


def bits_of_run(name: str) -> Bits:
    form, options = CASES[name]
    config = make_config(threads=2, memory="64MB", audit=0, column=ROWS[form].column_names[0], **options)
    local = _LocalRun(open_source(ROWS[form], batch_rows=97), None, config, "pairs", Work(), SILENT)
    run, frequencies = local.context, local.frequencies
    done = sketch(run.collection, run.recipe, frequencies, None, run.config, local.keep, run.counts, run.work, SILENT)
    items = np.arange(len(done.sketches))
    kept = [done.sketches.look_up("fingerprints", half, items) for half in (0, 1)]
    keys = [done.sketches.look_up("keys", band, items) for band in range(run.recipe.bands)]
    sizes = done.sketches.column("sizes")
    good = np.ones(len(items), np.bool_) if name != "cosine" else sizes > 0
    columns, group_by = run.collection.items.columns, run.collection.items.group_by
    run.work.close()
    return Bits(
        run.recipe, frequencies, columns, group_by, np.array(kept), sizes,
        np.array(keys, np.uint64).reshape(len(keys), len(items)), good,
    )  # fmt: skip


@pytest.fixture(scope="module", params=list(CASES))
def bits(request: pytest.FixtureRequest) -> tuple[str, Bits]:
    return request.param, bits_of_run(request.param)


def same(found: Any, bits: Bits) -> None:
    assert np.array_equal(found["keys"], bits.keys)
    assert np.array_equal(found["sizes"], bits.sizes)
    assert np.array_equal(found["fingerprints"][:, bits.good], bits.fingerprints[:, bits.good])


def test_a_batch_and_the_json_of_a_recipe_give_the_bits_of_a_run(bits: tuple[str, Bits]) -> None:
    name, run = bits
    form, options = CASES[name]
    recipe = Recipe.from_json(run.recipe.to_json(), seed=options.get("seed"))
    (rows,) = ROWS[form].to_batches()
    made = make_items(rows, recipe, run.columns, run.group_by)
    found = sketch_batch(made.values, made.groups, recipe, run.frequencies)
    same({"keys": found.keys, "sizes": found.sizes, "fingerprints": found.fingerprints}, run)


FRESH = """
import json, sys
import numpy as np, pyarrow as pa
from lookalike.items.make_items import make_items
from lookalike.measures.sketch_batch import sketch_batch
from lookalike.recipe import Recipe
from lookalike.represent.document_counts import Frequencies

for task in map(json.loads, sys.stdin):
    recipe = Recipe.from_json(task["recipe"])
    (rows,) = pa.ipc.open_file(task["rows"]).read_all().to_batches()
    frequencies = Frequencies.from_state(np.load(task["frequencies"])) if task["frequencies"] else None
    made = make_items(rows, recipe, task["columns"], task["group_by"])
    found = sketch_batch(made.values, made.groups, recipe, frequencies)
    np.savez(task["result"], keys=found.keys, sizes=found.sizes, fingerprints=found.fingerprints)
assert not [name for name in sys.modules if name.startswith("lookalike.engines")]
"""


def test_a_fresh_process_makes_the_same_bits_without_any_engine(tmp_path: Path) -> None:
    runs = {name: bits_of_run(name) for name in CASES if "secret" not in name}
    tasks = []
    for number, (name, run) in enumerate(runs.items()):
        table = ROWS[CASES[name][0]]
        path, counts = tmp_path / f"{number}.arrow", tmp_path / f"counts-{number}.npz"
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
        recipe = run.recipe
        if run.frequencies is not None:
            np.savez(counts, **run.frequencies.state())  # type: ignore[arg-type]
            recipe = Recipe.from_json(json.dumps(json.loads(recipe.to_json()) | {"frequencies": run.frequencies.mark}))
        tasks.append(
            {
                "recipe": recipe.to_json(),
                "rows": str(path),
                "columns": run.columns,
                "group_by": run.group_by,
                "frequencies": str(counts) if run.frequencies is not None else None,
                "result": str(tmp_path / f"{number}.npz"),
            }
        )
    lines = "\n".join(map(json.dumps, tasks))
    subprocess.run([sys.executable, "-c", FRESH], input=lines, text=True, check=True, cwd=tmp_path)
    for task, run in zip(tasks, runs.values(), strict=True):
        same(np.load(str(task["result"])), run)


def test_the_workers_of_a_pool_make_the_same_bits() -> None:
    """What goes there and comes back is pickled: values, recipe, with its secret seed, and sketches."""
    names = ["characters, secret seed", "euclidean"]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for name in names:
            run, table = bits_of_run(name), ROWS[CASES[name][0]]
            (rows,) = table.to_batches()
            made = make_items(rows, run.recipe, run.columns)
            found = pool.submit(sketch_batch, made.values, made.groups, run.recipe).result()
            same({"keys": found.keys, "sizes": found.sizes, "fingerprints": found.fingerprints}, run)
