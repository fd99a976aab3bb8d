"""What two texts share, marked where it stands, against a walk over the words."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.report.explain import compare_texts
from lookalike.shingle import parse_shingle
from lookalike.twin.text import shingles

LOWER = frozenset({"lower"})


def marked(text: bytes, other: bytes, k: int) -> list[bool]:
    """The bytes of an ASCII text from the first to the last letter of every shared run of k words, by hand.

    What is in no run of words goes with what stands on both sides of it.
    """
    words = [(m.group().lower(), m.start(), m.end()) for m in re.finditer(rb"[a-zA-Z0-9_]+", text)]
    theirs = [m.group().lower() for m in re.finditer(rb"[a-zA-Z0-9_]+", other)]
    size = min(k, len(words))
    runs = {tuple(theirs[i : i + k]) for i in range(max(1, len(theirs) - k + 1))}
    marks, in_words = [False] * len(text), [False] * len(text)
    for i in range(len(words) - size + 1 if size else 0):
        for place in range(words[i][1], words[i + size - 1][2]):
            in_words[place] = True
    for i in range(len(words) - size + 1):
        run = words[i : i + size]
        if run and tuple(word for word, _, _ in run) in runs:
            for place in range(run[0][1], run[-1][2]):
                marks[place] = True
    if not any(in_words):
        return marks
    sides = list(marks)
    for i, inside in enumerate(in_words):
        before = next((marks[j] for j in range(i - 1, -1, -1) if in_words[j]), True)
        after = next((marks[j] for j in range(i + 1, len(text)) if in_words[j]), True)
        sides[i] = marks[i] if inside else before and after
    return sides


ascii_text = st.text(st.sampled_from("abAB ,.\n"), max_size=30).map(str.encode)


@settings(deadline=None)
@given(ascii_text, ascii_text, st.sampled_from([1, 2, 3]))
def test_shared_shingles_are_counted_and_marked_as_by_hand(a: bytes, b: bytes, k: int) -> None:
    found = compare_texts(a, b, parse_shingle(f"word:{k}"))
    of_a, of_b = shingles(a, "word", k, LOWER), shingles(b, "word", k, LOWER)
    assert (found.size_a, found.size_b, found.both) == (len(of_a), len(of_b), len(of_a & of_b))
    assert found.shared_a.tolist() == marked(a, b, k)
    assert found.shared_b.tolist() == marked(b, a, k)


def test_the_measures_of_a_comparison() -> None:
    found = compare_texts(b"a b c d", b"b c d e f", parse_shingle("word:2"))
    assert (found.size_a, found.size_b, found.both) == (3, 4, 2)
    assert (found.similarity, found.a_in_b, found.b_in_a) == (2 / 5, 2 / 3, 2 / 4)
    assert bytes(x for x, shared in zip(b"a b c d", found.shared_a, strict=True) if shared) == b"b c d"


def test_two_texts_without_shingles_share_nothing() -> None:
    found = compare_texts(b"", b"...", parse_shingle("word:5"))
    assert (found.similarity, found.a_in_b, found.b_in_a) == (0.0, 0.0, 0.0)
    assert len(found.shared_a) == 0
    assert not found.shared_b.any()


def test_characters_of_many_bytes_are_marked_whole() -> None:
    a, b = "Straße 中文".encode(), "STRASSE 中国".encode()
    found = compare_texts(a, b, parse_shingle("word:1"))
    assert bytes(x for x, shared in zip(a, found.shared_a, strict=True) if shared).decode() == "Straße 中"
    assert bytes(x for x, shared in zip(b, found.shared_b, strict=True) if shared).decode() == "STRASSE 中"


def test_invalid_bytes_do_no_harm() -> None:
    found = compare_texts(b"\xff a b \xe4\xb8", b"a b", parse_shingle("word:1"))
    assert found.similarity == 1.0
    assert found.shared_a.all()
