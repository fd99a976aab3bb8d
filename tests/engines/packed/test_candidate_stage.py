"""Which task compares a pair: one for a whole family, which is sent the row of each of its items once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa

from lookalike.engines.packed.blobs import BatchWriter, blobs
from lookalike.engines.packed.candidate_stage import KINDS, CandidateStage, merge_requests
from lookalike.engines.packed.numbering import part_of_item

PARTS = 5
FAMILY = [3, 40, 41, 77]


def pairs_of_task(task: int) -> list[pa.RecordBatch]:
    """What two tasks with buckets tell the task of some left items; one of them knows of no smaller item."""
    out = BatchWriter(("pairs",))
    for band, first in enumerate((FAMILY[0], None)):
        for left, right in combinations(FAMILY, 2):
            if part_of_item(np.array([left]), PARTS)[0] == task:
                known = left if first is None else first
                numbers = {"left": left, "right": right, "first": known}
                arrays = {name: np.array([number]) for name, number in numbers.items()}
                small = {"hits": np.array([1], np.uint16), "bands": np.array([band], np.uint16)}
                out.add("pairs", task, arrays | small)
    return list(out.rest())


def test_a_family_is_compared_by_one_task_which_asks_for_each_row_once() -> None:
    made = [batch for task in range(PARTS) for batch in CandidateStage(PARTS)(iter(pairs_of_task(task)))]
    home = int(part_of_item(np.array(FAMILY[:1]), PARTS)[0])
    found: list[tuple[int, int]] = []
    for task, blob in blobs(iter(made), "pairs"):
        assert task == home
        assert blob["hits"].tolist() == [2] * len(blob["left"])
        assert blob["bands"].tolist() == [0, 1] * len(blob["left"])
        found += zip(blob["left"].tolist(), blob["right"].tolist(), strict=True)
    assert sorted(found) == list(combinations(FAMILY, 2))
    asked = pa.Table.from_batches(made).select(["p", *KINDS]).to_batches()
    requests = [blob for _, blob in blobs(merge_requests(iter(asked)), "requests")]
    items = np.concatenate([blob["items"] for blob in requests])
    assert sorted(items.tolist()) == FAMILY
    assert {int(task) for blob in requests for task in blob["tasks"]} == {home}
