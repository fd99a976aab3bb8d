"""A scan counts the slots in which codes differ, of every item in segments and in the table."""

from __future__ import annotations

import numpy as np
import pytest

from lookalike import Index
from lookalike.index import log_sizes
from lookalike.index.code_scan import CodeScan, numbers_within, scan_codes
from lookalike.kernels.addresses import address_of
from tests.reference.bits import numbers_within as expected_within
from tests.reference.bits import slots_differing
from tests.stored_records import log_of


@pytest.mark.parametrize("numbers", [True, False])
@pytest.mark.parametrize("width", [4, 8])
def test_differences_are_those_of_the_twin(numbers: bool, width: int) -> None:
    rng = np.random.default_rng(width)
    signatures = rng.integers(0, 2**64, (50, width), dtype=np.uint64)
    code = signatures[7, -4:] ^ np.array([0, 3, 0, 1], np.uint64)
    apart, having = np.empty(50, np.uint16), np.zeros(257, np.int64)
    scan_codes(
        address_of(signatures) + 8 * (width - 4), 8 * width, 50, code, int(numbers), apart, having
    )  # fmt: skip
    expected = [slots_differing(code.tolist(), each, numbers=numbers) for each in signatures[:, -4:].tolist()]
    assert apart.tolist() == expected
    assert having.tolist() == [expected.count(d) for d in range(257)]


@pytest.mark.parametrize(("low", "high"), [(-1, 0), (-1, 256), (3, 3), (3, 9), (200, 256)])
def test_those_within_some_differences_are_those_of_the_twin(low: int, high: int) -> None:
    apart = np.random.default_rng(high).integers(0, 257, 500).astype(np.uint16)
    numbers = np.empty(500, np.int64)
    count = numbers_within(apart, low, high, numbers)
    assert numbers[:count].tolist() == expected_within(apart.tolist(), low, high)


def test_a_scan_looks_at_segments_and_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_sizes, "FIRST_TABLE", 16)
    monkeypatch.setattr(log_sizes, "LAST_TABLE", 64)
    rng = np.random.default_rng(3)
    items = [rng.choice(60, 30, replace=False).tolist() for _ in range(120)]
    index = Index.create(threshold=0.7)
    index.add_many(enumerate(items))
    found = index.storing.sketch(items).codes
    assert found is not None
    codes = found.tolist()
    scan = CodeScan(log_of(index).view(), found[0], numbers=True)
    apart = [slots_differing(codes[0], each, numbers=True) for each in codes]
    assert scan.having.tolist() == [apart.count(d) for d in range(257)]
    for low, high in ((-1, 0), (0, 60), (60, 256), (-1, 256)):
        places, addresses = scan.between(low, high)
        assert len(places) == len(addresses)
        ids = [log_of(index).view().item(place).id for place in places.tolist()]
        assert ids == [i for i, d in enumerate(apart) if low < d <= high]
