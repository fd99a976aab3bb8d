"""Documents are counted exactly up to a number of shingles, beyond it in a table; never does the way there show."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.errors import InputError
from lookalike.represent.document_counts import Frequencies
from tests.plain_sets import plain_sets
from tests.reference import weighted as twin


def states_equal(a: Frequencies, b: Frequencies) -> bool:
    one, other = a.state(), b.state()
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


documents_of_few = st.lists(st.sets(st.integers(1, 60), max_size=20), max_size=12)


@given(documents_of_few, st.integers(0, 70), st.integers(1, 40))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_counts_are_those_of_the_twin_and_never_too_low(documents: list[set[int]], exact: int, width: int) -> None:
    frequencies = Frequencies(exact=exact, width=width)
    for document in documents:
        frequencies.add(plain_sets([document]))
    values = np.arange(1, 70, dtype=np.uint64)
    of = twin.document_counts(documents, exact, width)
    found = frequencies.of(values).tolist()
    assert found == [of(x) for x in values.tolist()]
    assert all(count >= sum(x in document for document in documents) for x, count in enumerate(found, start=1))
    assert (frequencies._table is None) == (len(set().union(*documents)) <= exact)


def test_documents_are_counted_not_occurrences() -> None:
    documents = [{1, 2}, {2}, set(), {2, 3}]
    counted = plain_sets(documents)
    frequencies = Frequencies()
    frequencies.add(counted)
    assert frequencies.of(np.array([1, 2, 3, 12345], np.uint64)).tolist() == [1, 3, 1, 0]
    assert frequencies.documents == 4
    assert frequencies.mean_length == 5 / 4


# Exact throughout; a table that a few thousand elements make necessary on the way; a table from the beginning.
@pytest.mark.parametrize("exact", [1 << 24, 3000, 0])
def test_batches_order_threads_and_merging_make_no_difference(exact: int) -> None:
    rng = np.random.default_rng(4)
    documents = [set(rng.integers(1, 5000, 200).tolist()) for _ in range(400)]
    options: dict[str, Any] = {"exact": exact, "width": 512}
    at_once, threaded, merged = (Frequencies(**options) for _ in range(3))
    at_once.add(plain_sets(documents))
    assert (at_once._table is None) == (exact > 5000)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: threaded.add(plain_sets(documents[i : i + 7])), reversed(range(0, 400, 7))))
    assert states_equal(threaded, at_once)
    # The last part alone has few enough elements to be exact, and is so when it is merged.
    for part in (documents[250:399], documents[:250], documents[399:]):
        some = Frequencies(**options)
        some.add(plain_sets(part))
        merged.merge(some)
    assert states_equal(merged, at_once)
    turned = Frequencies(**options)
    turned.add(plain_sets(documents[399:]))
    more = Frequencies(**options)
    more.add(plain_sets(documents[:399]))
    turned.merge(more)
    assert states_equal(turned, at_once)


@pytest.mark.parametrize("exact", [1 << 24, 3000, 0])
def test_counting_goes_on_from_its_state(exact: int) -> None:
    rng = np.random.default_rng(5)
    documents = [set(rng.integers(1, 5000, 200).tolist()) for _ in range(60)]
    whole, half = Frequencies(exact=exact, width=512), Frequencies(exact=exact, width=512)
    whole.add(plain_sets(documents))
    half.add(plain_sets(documents[:10]))
    resumed = Frequencies.from_state(half.state())
    resumed.add(plain_sets(documents[10:]))
    assert states_equal(resumed, whole)
    assert not states_equal(resumed, half), "a state is a copy"


def test_the_hash_table_grows_with_its_elements() -> None:
    rng = np.random.default_rng(6)
    values = np.unique(rng.integers(1, 2**63, 100_000).astype(np.uint64))
    frequencies = Frequencies()
    for part in np.array_split(values, 17):
        frequencies.add(plain_sets([set(part.tolist())]))
    assert (frequencies.of(values) == 1).all()
    frequencies.add(plain_sets([set(values[::2].tolist())]))
    assert frequencies.of(values).tolist() == [2 - i % 2 for i in range(len(values))]


def test_tables_of_different_sizes_are_not_added() -> None:
    with pytest.raises(InputError, match="different sizes"):
        Frequencies(width=100).merge(Frequencies(width=200))


def test_counters_stop_where_32_bits_end() -> None:
    begun = Frequencies(exact=0, width=1)
    begun.add(plain_sets([{1}]))
    state = begun.state()
    state["table"][:] = 2**32 - 2
    full = Frequencies.from_state(state)
    full.add(plain_sets([{1}, {2}, {3}]))
    assert full.of(np.array([1], np.uint64)).tolist() == [2**32 - 1]
    full.merge(full)
    assert full.of(np.array([1], np.uint64)).tolist() == [2**32 - 1]


def test_the_memory_may_be_of_any_kind() -> None:
    asked = []

    def allocate(count: int, kind: Any) -> Any:
        asked.append((count, np.dtype(kind).itemsize))
        return np.zeros(count, kind)

    rng = np.random.default_rng(7)
    documents = [set(rng.integers(1, 2**63, 3000).tolist()) for _ in range(4)]
    frequencies = Frequencies(exact=10_000, width=64, allocate=allocate)
    frequencies.add(plain_sets(documents))
    # The hash table has 2,048 elements at first, then up to 10,000; the table of counters has two rows.
    assert asked == [(8192, 8), (8192, 4), (16384, 8), (16384, 4), (32768, 8), (32768, 4), (128, 4)]
    counts = Counter(x for document in documents for x in document)
    assert all(frequencies.of(np.array(list(counts), np.uint64)) >= np.array(list(counts.values())))
