"""From verified matches to what people asked for: pairs of items, clusters, and which item stays."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa

from lookalike.cluster.components import components
from lookalike.cluster.keep import keep_order, parse_keep
from lookalike.cluster.representative import representatives
from lookalike.collide.group import largest_bucket
from lookalike.errors import OptionError
from lookalike.pipeline import Found
from lookalike.sketch.minhash import agreement
from lookalike.spec import VERSION as SPEC_VERSION
from lookalike.types import BoolArray, F64Array, I64Array

__all__ = ["Clustering", "cluster", "clusters_table", "pairs_table", "removed_table", "report"]


@dataclass(frozen=True, slots=True)
class Clustering:
    """keeper[i] is the item that stands for item i (itself if it is kept); similarity[i] how alike they are."""

    keeper: I64Array
    similarity: F64Array

    @property
    def kept(self) -> BoolArray:
        kept: BoolArray = self.keeper == np.arange(len(self.keeper))
        return kept

    @property
    def sizes(self) -> I64Array:
        """The number of items that each item stands for."""
        return np.bincount(self.keeper, minlength=len(self.keeper))


def pairs_table(found: Found) -> pa.Table:
    """Every pair of items once, the smaller id as `a`, sorted by a and b."""
    total = found.folds.unfolded(found.left, found.right)
    if total > found.config.max_pairs:
        raise OptionError(
            f"there are {total:,} pairs, more than max_pairs = {found.config.max_pairs:,}: "
            "ask for clusters or dedup instead, raise the threshold, or raise max_pairs"
        )
    first, second, which = found.folds.unfold(found.left, found.right)
    similarity = np.where(which < 0, 1.0, found.similarities[which]) if len(found.similarities) else np.ones(len(which))
    rank = _item_rank(found)
    swapped = rank[first] > rank[second]
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    order = np.lexsort((rank[second], rank[first]))
    columns = {
        "a": _ids(found, first[order]),
        "b": _ids(found, second[order]),
        "similarity": _column(similarity[order]),
    }
    columns |= _places(found, "a", first[order]) | _places(found, "b", second[order])
    return pa.table(columns)


def cluster(found: Found) -> Clustering:
    """Which item stands for which, by the configured clustering and keep policy."""
    config, folds = found.config, found.folds
    policy = parse_keep(config.keep)
    order = keep_order(
        policy,
        ties=_item_rank(found),
        lengths=found.sketches.lengths,
        values=found.sketches.keep_values,
    )
    # The best item of each group stands for it; groups are walked in the order of their best items.
    _, at = np.unique(folds.group[order], return_index=True)
    best = order[at]
    group_order = folds.group[order][np.sort(at)]
    if config.cluster == "representative":
        keeper, similarity = representatives(group_order, found.left, found.right, _finite(found.similarities))
        if config.verify == "none":
            similarity = np.where(keeper == np.arange(len(keeper)), 1.0, np.nan)
    else:
        keeper, similarity = _components(found, group_order)
    of_item = best[keeper[folds.group]]
    own = folds.group[of_item] == folds.group
    return Clustering(of_item, np.where(own, 1.0, similarity[folds.group]))


def _components(found: Found, group_order: I64Array) -> tuple[I64Array, F64Array]:
    """Connected groups; the best of each stays. Similarity to it is told even where it is below the threshold."""
    groups = len(found.folds)
    root = components(groups, found.left, found.right)
    rank = np.empty(groups, np.int64)
    rank[group_order] = np.arange(groups)
    best_rank = np.full(groups, groups, np.int64)
    np.minimum.at(best_rank, root, rank)
    keeper = group_order[best_rank[root]]
    similarity = np.ones(groups, np.float64)
    others = np.flatnonzero(keeper != np.arange(groups))
    first, signatures = found.folds.first, found.sketches.signatures
    if found.config.verify == "exact":
        similarity[others] = found.judge.similarities(first[others], first[keeper[others]], 0.0)
    elif signatures is not None:
        similarity[others] = agreement(signatures, first[others], first[keeper[others]])
    else:
        similarity[others] = np.nan
    return keeper, similarity


def clusters_table(found: Found, clustering: Clustering) -> pa.Table:
    """The items of every cluster of two or more: cluster number, its size, id, the kept id, similarity to it."""
    sizes = clustering.sizes[clustering.keeper]
    rows = np.flatnonzero(sizes > 1)
    # Clusters are numbered by their first item, and their items follow in the order of the input.
    _, number = np.unique(_first_of_cluster(clustering)[rows], return_inverse=True)
    order = np.argsort(number, kind="stable")
    rows = rows[order]
    columns = {
        "cluster": pa.array(number[order].astype(np.int64)),
        "size": pa.array(sizes[rows].astype(np.int64)),
        "id": _ids(found, rows),
        "kept": _ids(found, clustering.keeper[rows]),
        "similarity": _column(clustering.similarity[rows]),
    }
    return pa.table(columns | _places(found, "", rows))


def _first_of_cluster(clustering: Clustering) -> I64Array:
    first = np.full(len(clustering.keeper), len(clustering.keeper), np.int64)
    np.minimum.at(first, clustering.keeper, np.arange(len(clustering.keeper)))
    return first[clustering.keeper]


def removed_table(found: Found, clustering: Clustering) -> pa.Table:
    """Every removed item: its id, the id kept in its place, and how similar they are."""
    rows = np.flatnonzero(~clustering.kept)
    keepers = clustering.keeper[rows]
    columns = {
        "id": _ids(found, rows),
        "kept": _ids(found, keepers),
        "similarity": _column(clustering.similarity[rows]),
    }
    return pa.table(columns | _places(found, "", rows) | _places(found, "kept", keepers))


def report(found: Found) -> dict[str, Any]:
    """What went in, what was found and how, as plain data."""
    config, counts, planned = found.config, found.counts, found.plan
    rejected = counts.candidates - counts.matches
    out: dict[str, Any] = {
        "lookalike": version("lookalike"),
        "hash_spec": SPEC_VERSION,
        "inputs": list(found.items.source.files),
        "column": list(found.items.columns),
        "id": found.items.id,
        "keep": config.keep if isinstance(config.keep, str) else "callable",
        "cluster": config.cluster,
        "measure": "identity" if config.exact else "jaccard",
        "threshold": 1.0 if config.exact else config.threshold,
        "compared": found.items.kind,
        "normalize": sorted(config.shingle.normalize) if found.items.kind != "sets" else [],
        "verify": config.verify,
        "seed": config.seed,
        **asdict(counts),
        "pairs": found.folds.unfolded(found.left, found.right),
        "candidates_rejected": rejected,
        "candidates_rejected_share": rejected / counts.candidates if counts.candidates else 0.0,
        "largest_bucket": _largest_bucket(found) if planned else 0,
        "precision": 1.0 if config.verify == "exact" else None,
    }
    if planned is not None:
        out |= {
            "bands": planned.bands,
            "rows_per_band": planned.rows,
            "recall_at_threshold": planned.expected_recall,
        }
    if found.items.source.bad:
        out["skipped_examples"] = list(found.items.source.bad)
    return out


def _largest_bucket(found: Found) -> int:
    """Over the groups that have elements: the others have no keys of their own and are compared with nothing."""
    first = found.folds.first
    return largest_bucket(found.sketches.keys[first[found.sketches.sizes[first] > 0]])


def _column(similarities: F64Array) -> pa.Array:
    """Similarities as a column; a pair that was not verified has none."""
    return pa.array(similarities, mask=np.isnan(similarities))


def _finite(similarities: F64Array) -> F64Array:
    """Unverified matches have no similarity; for choosing a keeper they all count alike."""
    return np.where(np.isnan(similarities), 1.0, similarities)


def _item_rank(found: Found) -> I64Array:
    """The rank of each item by id, then by its place in the document."""
    rows = found.sketches.rows
    rank = found.sketches.ids.rank[rows]
    if found.config.unit == "document":
        return rank
    out = np.empty(len(rows), np.int64)
    out[np.argsort(rank, kind="stable")] = np.arange(len(rows))
    return out


def _unit_numbers(found: Found) -> I64Array:
    """The number of each unit inside its document, from 0."""
    rows = found.sketches.rows
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = rows[1:] != rows[:-1]
    first = np.flatnonzero(begins)
    return np.arange(len(rows)) - np.repeat(first, np.diff(np.append(first, len(rows))))


def _ids(found: Found, items: I64Array) -> pa.Array:
    return found.sketches.ids.of(found.sketches.rows[items])


def _places(found: Found, prefix: str, items: I64Array) -> dict[str, pa.Array]:
    """What stands beside an id: the number of a paragraph or line; the file and row where there is no id column."""
    source = found.items.source
    lead = f"{prefix}_" if prefix else ""
    columns = {}
    if found.config.unit != "document":
        columns[f"{lead}unit"] = pa.array(_unit_numbers(found)[items])
    if found.items.id is None and len(source.files) > 1:
        rows = found.sketches.rows[items]
        starts = np.array(source.first_rows(), np.int64)
        file = np.searchsorted(starts, rows, side="right") - 1
        columns[f"{lead}file"] = pa.array(source.files).take(pa.array(file))
        columns[f"{lead}row"] = pa.array(rows - starts[file])
    return columns
