"""A batch run against an index: which options it has, what it is compared with, and what is added in the end.

The recipe of the index is that of the run. Options that are not given are those of the index, and others than these are
refused: sketches that were made in two ways cannot be compared. Only the threshold may be higher.

What a run keeps is added when its results are where they belong, and as one (`Index.as_one`). So whatever ends a run,
either nothing of it is in the index, or all is. In the second case the same run, when it is repeated, must not find its
own items there: a bundle in the log has a token, made of what tells the input files, and the items of the last bundle
with the token of the run are passed over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from lookalike.config import Config, make_config
from lookalike.engines.local.known_items import KnownItems
from lookalike.engines.local.pipeline import Found
from lookalike.errors import InputError, OptionError
from lookalike.index.bulk import adopt_items, payload_columns, payloads_of
from lookalike.index.index import Index
from lookalike.index.index_folder import is_index
from lookalike.index.index_items import IdBytes, bytes_of_payloads
from lookalike.index.index_options import index_config
from lookalike.index.index_probe import IndexProbe
from lookalike.index.redis_address import is_redis
from lookalike.index.storing import Prepared
from lookalike.io.reading.watch import fingerprints
from lookalike.io.source import Source
from lookalike.items.from_rows import ItemPiece, Items, open_items
from lookalike.key import seed_shown
from lookalike.measure_table import IDENTITY
from lookalike.measures.sketch_batch import sketch_batch
from lookalike.options import IndexOptions
from lookalike.options.option_table import entries
from lookalike.shingle import Shingle, parse_shingle
from lookalike.threads.ordered import ordered_map
from lookalike.types import BoolArray, Dense
from lookalike.wording.progress import SILENT, Progress

__all__ = ["IndexRun", "names_index", "open_index_run", "refuse_index"]

# What an index does not go with, and why.
_REFUSED = {
    "group_by": "an index has no groups",
    "only_against": "near-duplicates inside the input go, too",
    "max_share": "an index knows no shares of documents",
}
# Ids that are looked up at a time.
_IDS = 10_000
# What of a place tells where an item is.
_WHERE = 2**43 - 1


def names_index(against: Any) -> bool:
    """Whether this is an index, or the place of one."""
    if isinstance(against, Index) or (isinstance(against, str) and is_redis(against)):
        return True
    try:
        return isinstance(against, str | Path) and is_index(against)
    except (OSError, ValueError):
        # No name that a folder could have.
        return False


def refuse_index(against: Any) -> None:
    """Refuse an index where pairs with another collection are asked for."""
    # Texts in a list are items, and only paths are places.
    several = [each for each in against if not isinstance(each, str)] if isinstance(against, list) else [against]
    if any(names_index(each) for each in several):
        raise OptionError(
            "against names an index, of which pairs are not listed: dedup takes it, and `lookalike index query` asks "
            "it for the matches of each item"
        )


def open_index_run(
    against: Any, given: Mapping[str, Any], *, add: bool, replace: bool = False, payload: Sequence[str] = ()
) -> IndexRun | None:
    """The index to compare with, if `against` is one; `given` are the options of the run that were given."""
    if replace and not add:
        raise OptionError("replace needs add: it replaces items of the index")
    # Texts in a list are items, and only paths are places.
    listed = isinstance(against, list | tuple) and any(isinstance(each, Path | Index) for each in against)
    several = list(against) if listed else [against]
    if not any(names_index(each) for each in several):
        if add:
            named = isinstance(several[0], str | Path)
            what = "no index is given" if not named else f"{several[0]} is none"
            raise OptionError(f"add puts what is kept into an index, and {what}: name its folder with against")
        if payload:
            raise OptionError("payload needs add: it is stored with the items that are added")
        return None
    if len(several) > 1:
        raise OptionError("against takes one index and nothing else beside it")
    if payload and not add:
        raise OptionError("payload needs add: it is stored with the items that are added")
    index = several[0]
    if isinstance(index, Index):
        if add and index.readonly:
            raise OptionError(f"{index.name} is opened read-only: nothing can be added")
        return IndexRun(index, given, add=add, replace=replace, payload=payload, close=False)
    secret = {name: given[name] for name in ("tokens", "seed") if given.get(name) is not None}
    opened = Index.open(index, readonly=not add, **secret)
    try:
        return IndexRun(opened, given, add=add, replace=replace, payload=payload, close=True)
    except BaseException:
        opened.close()
        raise


class IndexRun:
    """One run against an index, from its options to what is added; the index is held until it is closed."""

    def __init__(
        self, index: Index, given: Mapping[str, Any], *, add: bool, replace: bool, payload: Sequence[str], close: bool
    ) -> None:
        self.index = index
        self.adds, self._replaces = add, replace
        self._payload = tuple(payload)
        self._close = close
        self._token = ""
        self._probe: IndexProbe | None = None
        self.options = _merged(index, given)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index, unless it is somebody else's."""
        if self._close:
            self.index.close()

    def configured(self, config: Config) -> Config:
        """The configuration of the run, as an index has it."""
        return index_config(config)

    def known(self, source: Source, config: Config) -> KnownItems:
        """The items to compare those of a source with; what cannot be compared or added is refused."""
        items = open_items(source, config)
        if self.index.recipe is None and not self.adds:
            raise InputError(f"{self.index.name} has no items yet: there is nothing to compare with")
        adopt_items(self.index, items, config)
        self._token = _token_of(source, config) if self.adds else ""
        self._probe = self.index.known(self._token)
        self._probe.grows = self.adds
        if self.adds:
            self._payload = payload_columns(source, self._payload)
            if items.id is None and len(self._probe):
                raise OptionError(
                    f"the items have no ids to tell them from those of {self.index.name}, and cannot be added: name "
                    "their column with id (--id)"
                )
        return self._probe

    def check(self, found: Found) -> None:
        """Refuse to add what the index has no room for, before anything is written."""
        if not self.adds:
            return
        assert self._probe is not None
        replaced = 0
        for ids in _kept_ids(found):
            replaced += self._are_new(ids)[1]
        if self._replaces:
            self._probe.replaced = replaced

    def _are_new(self, ids: list[Any]) -> tuple[BoolArray, int]:
        """Which ids are not in the index, or are to be replaced there; and how many of the latter there are.

        What an earlier try of this run has added is there. Nothing else may be, unless it is to be replaced.
        """
        assert self._probe is not None
        begin, end = self._probe.passed_over
        places = self.index.storing.places_of_ids(ids, self.index.storing.store.view())
        others = [place is not None and not begin <= place & _WHERE < end for place in places]
        if any(others) and not self._replaces:
            raise InputError(
                f"the id {ids[others.index(True)]!r} is in {self.index.name} already, and another item has it there: "
                "use replace (--replace), or another id"
            )
        new = [place is None or other for place, other in zip(places, others, strict=True)]
        return np.array(new, np.bool_), sum(others)

    def add(self, found: Found, progress: Progress = SILENT) -> int:
        """Add what was kept, as one; how many items of the run the index has then."""
        if not self.adds:
            return 0
        items, kept = found.items, kept_items(found)
        more = [*([items.id] if items.id else []), *self._payload]
        added = 0
        with progress.stage("adding to the index", items.source.size(), "B") as stage, self.index.as_one(self._token):
            pieces = items.pieces(*more, on_read=stage.advance, only=kept)
            work = partial(self._prepared, items, kept)
            for some in ordered_map(lambda piece: list(work(piece)), pieces, found.config.threads):
                for each, count in some:
                    if each is not None:
                        self.index.storing.store_new(each, replacing=self._replaces)
                    added += count
        return added

    def _prepared(self, items: Items, kept: BoolArray, piece: ItemPiece) -> Iterator[tuple[Prepared | None, int]]:
        """The items of a piece that are kept and can be compared, as they are stored; how many, with those there.

        A text that is null was taken for an empty one, and is added as such.
        """
        recipe = self.index.recipe
        assert recipe is not None
        for batch in piece.load():
            chosen = np.flatnonzero(kept[batch.rows])
            found = sketch_batch(batch.values.take(pa.array(chosen)), None, recipe, coded=True)
            absent = [place for place, _ in found.items.bad]
            if isinstance(found.items, Dense):
                absent += np.flatnonzero(~found.items.present).tolist()
            if absent:
                chosen = np.delete(chosen, absent)
                found = sketch_batch(batch.values.take(pa.array(chosen)), None, recipe, coded=True)
            rows = batch.batch.rows.take(pa.array(batch.rows[chosen] - batch.batch.first))
            ids = _ids_in(rows, items, batch.rows[chosen].tolist())
            new, _ = self._are_new(ids)
            if not new.all():
                found = sketch_batch(batch.values.take(pa.array(chosen[new])), None, recipe, coded=True)
                rows = rows.filter(pa.array(new))
            names = [name for name, is_new in zip(ids, new.tolist(), strict=True) if is_new]
            if not names:
                yield None, len(ids)
                continue
            payloads = bytes_of_payloads(payloads_of(rows, self._payload, len(names)))
            yield self.index.storing.prepared(names, IdBytes(names), found, payloads), len(ids)


def kept_items(found: Found) -> BoolArray:
    """For each of the run's own items whether it is kept."""
    assert found.matched.clustering is not None, "pairs were asked for"
    return found.matched.clustering.kept[found.collection.references :]


def _kept_ids(found: Found) -> Iterator[list[Any]]:
    rows = np.flatnonzero(kept_items(found))
    for begin in range(0, len(rows), _IDS):
        yield found.sketched.ids[-1].of(rows[begin : begin + _IDS]).to_pylist()


def _ids_in(rows: pa.RecordBatch, items: Items, numbers: list[int]) -> list[Any]:
    if items.id is None:
        return numbers
    found: list[Any] = rows.column(rows.schema.get_field_index(items.id)).to_pylist()
    return found


def _token_of(source: Source, config: Config) -> str:
    """What tells the items of some files from others; nothing where they are no files."""
    files = fingerprints(source)
    if not files:
        return ""
    told = [files, getattr(source, "limit", None), getattr(source, "recipe", None), config.columns, config.id]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def _merged(index: Index, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run: those of the index, and what is given beside them."""
    for name, why in _REFUSED.items():
        if given.get(name) is not None:
            raise OptionError(f"{name} does not go with an index ({index.name}): {why}")
    if given.get("unit", "document") != "document":
        raise OptionError(f"unit={given['unit']} does not go with an index ({index.name}), which has whole documents")
    if given.get("cluster", "representative") != "representative":
        raise OptionError(
            f"cluster={given['cluster']} does not go with an index ({index.name}), which tells the best match of an "
            "item, not all"
        )
    own = _options_of(index)
    for name in entries(IndexOptions):
        if given.get(name) is not None:
            _check_same(index, name, own, given[name])
    return own | {name: value for name, value in given.items() if value is not None and not _is_told(name, own)}


def _is_told(name: str, own: Mapping[str, Any]) -> bool:
    """Whether an option is as the index has it, however it was written."""
    return name in entries(IndexOptions) and name in own and name not in ("threshold", "max_distance")


def _options_of(index: Index) -> dict[str, Any]:
    """The options that an index was made with, and what was found for those that were not given."""
    own, recipe = index.options, index.recipe
    if recipe is not None:
        if recipe.measure != IDENTITY:
            own["measure"] = recipe.measure
        if recipe.bands:
            own |= {"bands": recipe.bands, "rows": recipe.rows}
        if recipe.weights is not None:
            own["weights"] = recipe.weights
    return own


def _check_same(index: Index, name: str, own: Mapping[str, Any], value: Any) -> None:
    """Refuse an option that is not that of the index."""
    recipe = index.recipe
    before = own.get(name, entries(IndexOptions)[name].option.default)
    if name == "tokens":
        return
    if name in ("threshold", "max_distance"):
        _check_limit(index, name, own, value)
        return
    if recipe is None and before is None:
        return
    if name == "shingle":
        shingle = value if isinstance(value, Shingle) else parse_shingle(value)
        before, value = str(before or "word:5"), str(shingle)
    elif name == "normalize":
        before, value = (sorted(parse_shingle("word:5", normalize=each).normalize) for each in (before, value))
    elif name == "seed":
        before, value = seed_shown(before), seed_shown(value)
    if before != value:
        raise OptionError(f"{index.name} was made with {name}={before!r}, and {value!r} was given")


def _check_limit(index: Index, name: str, own: Mapping[str, Any], value: float) -> None:
    scale = make_config(**own).scale
    if scale.is_distance != (name == "max_distance"):
        raise OptionError(f"{index.name} was made for {scale}: {name} does not go with it")
    if value > scale.limit if scale.is_distance else value < scale.limit:
        raise OptionError(
            f"{index.name} was made for {scale}, and {name}={value:g} was given: it would not find what it should; "
            "make another index"
        )
