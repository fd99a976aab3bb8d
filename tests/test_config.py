"""Options are validated once; an error names the option, its value and what is allowed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lookalike.config import LEAST_MEMORY, Config, make_config
from lookalike.errors import LookalikeError, OptionError
from lookalike.options import ConfigOptions
from lookalike.options.option_table import entries
from lookalike.shingle import Shingle, parse_normalize, parse_shingle


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0}, "threshold is 0: it must be above 0 and up to 1"),
        ({"threshold": 1.01}, "threshold is 1.01: it must be above 0 and up to 1"),
        ({"threshold": float("nan")}, "threshold is nan: it must be above 0 and up to 1"),
        ({"threshold": "0.8"}, "threshold is '0.8': it must be a number above 0 and up to 1"),
        ({"measure": "cosin"}, "measure is 'cosin': it must be one of jaccard, weighted-jaccard, containment, "),
        ({"measure": 1}, "measure is 1: it must be text"),
        ({"measure": "lr:0.5"}, "measure is 'lr:0.5': the order of a distance must be 1 or more, for example lr:3"),
        ({"measure": "euclidean"}, "euclidean needs max_distance (--max-distance), the maximum distance"),
        ({"measure": "l2"}, "measure is 'l2': it must be one of"),
        ({"measure": "euclidean", "max_distance": 0}, "max_distance is 0: it must be above 0"),
        ({"measure": "euclidean", "threshold": 0.5}, "euclidean is a distance: give max_distance"),
        ({"measure": "containment", "max_distance": 0.5}, "containment is a similarity without a distance: give thres"),
        (
            {"max_distance": 0.5},
            "max_distance (--max-distance) needs a measure: add measure (--measure), for example euclidean for vectors",
        ),
        (
            {"measure": "cosine", "exact": True},
            "exact cannot be combined with measure='cosine'",
        ),
        ({"threshold": True}, "threshold is True: it must be a number above 0 and up to 1"),
        ({"recall": 1.5}, "recall is 1.5: it must be above 0 and up to 1"),
        ({"recall": 1, "verify": "none"}, "recall=1 compares all pairs exactly"),
        ({"recall": 0.0}, "recall is 0.0: it must be above 0 and up to 1"),
        ({"bands": 5}, "bands needs rows: give both, or neither and let the planner choose"),
        ({"rows": 5}, "rows needs bands: give both, or neither and let the planner choose"),
        ({"bands": 0, "rows": 1}, "bands is 0: it must be a whole number from 1 to 10000"),
        ({"bands": 1, "rows": 2.0}, "rows is 2.0: it must be a whole number from 1 to 10000"),
        ({"verify": "maybe"}, "verify is 'maybe': it must be one of exact, text, sketch, none"),
        ({"cluster": "all"}, "cluster is 'all': it must be one of representative, components"),
        ({"unit": "word"}, "unit is 'word': it must be one of document, paragraph, line"),
        ({"seed": -1}, "seed is -1: it must be a whole number from 0 to 2^128 - 1"),
        ({"seed": 2**128}, f"seed is {2**128}: it must be a whole number from 0 to 2^128 - 1"),
        ({"threads": 0}, "threads is 0: it must be a whole number, 1 or more"),
        ({"threads": True}, "threads is True: it must be a whole number, 1 or more"),
        ({"max_pairs": 0}, "max_pairs is 0: it must be a whole number, 1 or more"),
        ({"memory": "much"}, "memory is 'much': it must be a size such as 4GB or 500MB"),
        ({"memory": "1.2.3GB"}, "memory is '1.2.3GB': it must be a size such as 4GB or 500MB"),
        ({"memory": True}, "memory is True: it must be a size such as 4GB or 500MB"),
        ({"memory": -1}, "memory is -1: it must be a size such as 4GB or 500MB"),
        ({"memory": "1kB"}, f"memory is '1kB': at least {LEAST_MEMORY // 10**6}MB are needed"),
        ({"audit": -1}, "audit is -1: it must be a number of items, 0 for none"),
        ({"audit": 0.5}, "audit is 0.5: it must be a number of items, 0 for none"),
        ({"column": 5}, "column is 5: it must be a name or a list of names"),
        ({"column": ["a", 5]}, "column is ['a', 5]: it must be a name or a list of names"),
        ({"exact": True, "bands": 1, "rows": 1}, "exact matches identical items only and does not use bands and rows"),
        ({"exact": True, "verify": "none"}, "exact cannot be combined with verify='none'"),
        ({"exact": True, "tokens": str.split}, "exact cannot be combined with a tokens"),
        ({"unit": "line", "column": ["a", "b"]}, "unit is 'line': it takes one column, not 2"),
        ({"shingle": 5}, "shingle is 5: it must be text, for example word:5 or char:9"),
        ({"shingle": Shingle(), "normalize": "lower"}, "shingle is a Shingle already: give it normalize and tokens"),
    ],
)
def test_a_wrong_option_is_named_with_its_value_and_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        make_config(**options)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, LookalikeError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("shingle", "options", "message"),
    [
        ("words:5", {}, "shingle is 'words:5': it must be word:K or char:K"),
        ("word", {}, "shingle is 'word': it must be word:K or char:K"),
        ("word:x", {}, "shingle is 'word:x': it must be word:K or char:K"),
        ("word:٣", {}, "shingle is 'word:٣': it must be word:K or char:K"),
        ("word:5:set", {}, "shingle is 'word:5:set': it must be word:K or char:K"),
        ("word:0", {}, "shingle is 'word:0': K must be from 1 to 64"),
        ("char:65", {}, "shingle is 'char:65': K must be from 1 to 64"),
        ("char:5", {"tokens": str.split}, "shingle is 'char:5': a tokens callable goes with word:K"),
        ("word:5", {"tokens": str.split, "normalize": "lower"}, "normalize does not go with a tokens callable"),
        ("word:5", {"normalize": "lower,shout"}, "normalize is 'shout': it must be among lower, accents, digits"),
    ],
)
def test_a_wrong_shingle_is_named_with_what_is_allowed(shingle: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        make_config(shingle=shingle, **options)
    assert str(caught.value).startswith(message)


def test_the_defaults_are_those_of_the_table() -> None:
    config = make_config()
    table = entries(ConfigOptions)
    same = {field.name for field in fields(Config)} & set(table) - {"threshold", "shingle", "threads", "memory"}
    assert {name: getattr(config, name) for name in same} == {name: table[name].option.default for name in same}
    assert (config.threshold, str(config.shingle)) == (0.8, "word:5")
    assert config.threads >= 1
    assert config.memory >= LEAST_MEMORY


@pytest.mark.parametrize(
    ("memory", "size"),
    [
        (10**9, 10**9),
        ("4GB", 4 * 10**9),
        (" 500 mb ", 5 * 10**8),
        ("1.5GiB", 3 << 29),
        ("2T", 2 * 10**12),
        ("300000000", 3 * 10**8),
        ("0.5g", 5 * 10**8),
    ],
)
def test_memory_is_a_number_of_bytes_or_a_size_in_words(memory: int | str, size: int) -> None:
    assert make_config(memory=memory).memory == size


def test_a_configuration_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        make_config().threshold = 0.5  # type: ignore[misc]


def test_numbers_of_other_libraries_count_as_numbers() -> None:
    config = make_config(
        threshold=np.float32(0.5),  # type: ignore[arg-type]
        recall=Fraction(9, 10),  # type: ignore[arg-type]
        bands=np.int64(3),  # type: ignore[arg-type]
        rows=np.uint8(2),  # type: ignore[arg-type]
        seed=np.int32(7),  # type: ignore[arg-type]
    )
    assert (config.threshold, config.recall, config.bands, config.rows, config.seed) == (0.5, 0.9, 3, 2, 7)
    assert {type(value) for value in (config.bands, config.rows, config.seed)} == {int}
    assert type(config.threshold) is float


def test_shingles_are_parsed_with_the_defaults_of_their_kind() -> None:
    assert parse_shingle("word:5") == Shingle("word", 5, False, frozenset({"lower"}))
    assert parse_shingle("char:9:bag") == Shingle("char", 9, True, frozenset({"lower", "whitespace"}))
    assert parse_shingle("word:3", normalize="none").normalize == frozenset()
    assert str(parse_shingle("word:3:bag")) == "word:3:bag"
    assert make_config(shingle=Shingle("char", 4)).shingle.k == 4


def test_normalisations_are_given_as_text_or_as_names() -> None:
    assert parse_normalize("lower, digits") == parse_normalize(["digits", "lower"]) == {"lower", "digits"}
    assert parse_normalize("") == parse_normalize([]) == frozenset()


def test_exact_is_of_bytes_unless_normalize_is_given() -> None:
    assert not make_config(exact=True).exact_normalized
    assert make_config(exact=True, normalize="none").exact_normalized


def test_one_column_and_several_are_both_a_tuple() -> None:
    assert make_config(column="a").columns == ("a",)
    assert make_config(column=["a", "b"]).columns == ("a", "b")
    assert make_config(column=[]).columns == make_config().columns == ()
