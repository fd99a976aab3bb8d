"""A little of what `python -m benchmarks.fuzz_readers` does for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fuzz_readers import _exercise
from benchmarks.fuzz_seeds import ENDINGS, FORMATS, case


@pytest.mark.parametrize("format", FORMATS)
def test_bent_files_are_read_or_refused_with_a_line(format: str, tmp_path: Path) -> None:
    outcomes = [_exercise(tmp_path, case(format, 3, number), ENDINGS[format], number) for number in range(40)]
    assert [each for each in outcomes if each.startswith("finding")] == []
    assert set(outcomes) == {"read", "refused"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_case_is_made_again_from_its_number(format: str) -> None:
    assert [case(format, 1, number) for number in range(9)] == [case(format, 1, number) for number in range(9)]
    assert case(format, 1, 5) != case(format, 2, 5)
