"""Words and their places in a text, against the tokens that are hashed."""

from __future__ import annotations

from hypothesis import given

from lookalike.represent.text_sets import tokens_of
from lookalike.represent.token_places import place_tokens
from lookalike.shingle import Shingle
from tests.reference.windows import joined
from tests.represent.test_shingle_kernels import option_sets, raws, some


@some
@given(raws, option_sets)
def test_the_words_are_joined_as_by_the_twin(raw: bytes, options: frozenset[str]) -> None:
    shingle = Shingle(normalize=options)
    placed, tokens = place_tokens(raw, shingle), tokens_of(raw, shingle)
    assert placed.joined.tobytes() == joined(tokens)
    assert [placed.joined[a:b].tobytes() for a, b in zip(placed.bounds, placed.bounds[1:], strict=False)] == [
        token + b"\xff" for token in tokens
    ]
    assert len(placed) == len(tokens)


@some
@given(raws)
def test_words_stand_one_after_another(raw: bytes) -> None:
    begins = place_tokens(raw, Shingle()).spans[:, 0].tolist()
    assert begins == sorted(begins)


def test_a_word_stands_where_it_is_written() -> None:
    text = "Ein Café, zwei: 中文!".encode()
    placed = place_tokens(text, Shingle())
    assert [text[begin:end].decode() for begin, end in placed.spans] == ["Ein", "Café", "zwei", "中", "文"]


def test_two_runs_of_words_have_one_digest_if_they_are_the_same() -> None:
    one, other = place_tokens(b"a bc a bc", Shingle()), place_tokens(b"ab c A, BC", Shingle())
    assert one.digest(0, 2) == one.digest(2, 4) == other.digest(2, 4)
    assert one.digest(0, 2) != other.digest(0, 2)
