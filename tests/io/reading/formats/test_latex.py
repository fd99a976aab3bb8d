"""LaTeX to plain text: accents, letters, and what is only about looks."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.io.reading.formats.latex import plain_text


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"M{\"u}ller, M\"uller, M{\"{u}}ller, M\"{u}ller", "Müller, Müller, Müller, Müller"),
        (r"\'Etienne \v{C}apek, Erd{\H o}s, \c{c}a, \.I, {\aa}ngstr{\"o}m", "Étienne Čapek, Erdős, ça, İ, ångström"),
        (r"na{\"\i}ve, {\'\i}, \u{g}, \k{a}, \r{u}, \~n, \^e, \`a, \=o", "naïve, í, ğ, ą, ů, ñ, ê, à, ō"),
        (r"Stra{\ss}e, Stra\ss e, {\O}rsted, \o{}re, {\AE}sir, \L{}\'od\'z", "Straße, Straße, Ørsted, øre, Æsir, Łódź"),
        (r"The {TEX} book, {\em on} \emph{tea} and \textbf{{m}ilk}", "The TEX book, on tea and milk"),
        (r"tea~and\ milk \& 5\% of \$3 \# a\_b \{set\}", "tea and milk & 5% of $3 # a_b {set}"),
        (r"$\alpha$-stable, \LaTeX, \delta, \omega, \dots", r"$\alpha$-stable, \LaTeX, \delta, \omega, …"),
        ("two\n   lines\t and   spaces", "two lines and spaces"),
        ("plain text, as it is -- Müller", "plain text, as it is -- Müller"),
    ],
)
def test_what_latex_stands_for(latex: str, plain: str) -> None:
    assert plain_text(latex) == plain


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.text("\\{}\"'~ui aH$\n", max_size=40))
def test_any_text_becomes_one_line_and_loses_no_letter_beside_commands(text: str) -> None:
    plain = plain_text(text)
    assert plain == " ".join(plain.split())
    if "\\" not in text:
        assert plain == " ".join(re.sub("[{}]", "", text.replace("~", " ")).split())


def test_time_is_linear_in_the_length_of_what_is_not_closed() -> None:
    for text in ('\\"{' + " " * 100_000, "\\" * 100_000, "{" * 100_000, '\\"' * 50_000, "\\ss " * 30_000):
        assert len(plain_text(text)) <= len(text)
