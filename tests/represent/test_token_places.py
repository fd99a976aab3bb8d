"""Words and their places in a text, against the tokens that are hashed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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


@some
@given(st.lists(st.one_of(raws, st.just(b" "), st.just(b"a b 7")), max_size=8), option_sets, st.integers(0, 20))
def test_a_text_that_is_cut_into_pieces_has_the_same_words(
    parts: list[bytes], options: frozenset[str], piece: int
) -> None:
    raw, shingle = b"".join(parts), Shingle(normalize=options)
    whole, cut = place_tokens(raw, shingle), place_tokens(raw, shingle, piece)
    assert cut.joined.tobytes() == whole.joined.tobytes()
    assert cut.spans.tolist() == whole.spans.tolist()
    assert cut.bounds.tolist() == whole.bounds.tolist()


def test_a_word_stands_where_it_is_written() -> None:
    text = "Ein Café, zwei: 中文!".encode()
    placed = place_tokens(text, Shingle())
    assert [text[begin:end].decode() for begin, end in placed.spans] == ["Ein", "Café", "zwei", "中", "文"]


def test_two_runs_of_words_have_one_digest_if_they_are_the_same() -> None:
    one, other = place_tokens(b"a bc a bc", Shingle()), place_tokens(b"ab c A, BC", Shingle())
    assert one.digest(0, 2) == one.digest(2, 4) == other.digest(2, 4)
    assert one.digest(0, 2) != other.digest(0, 2)
