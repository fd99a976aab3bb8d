"""The main text of web pages."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lookalike.represent import html
from lookalike.represent.html import close_readers, main_texts
from lookalike.represent.visible import visible_text

WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "nu", "re", "so") for b in "bdfglmnprst" for c in ("a", "en", "ilo")]


@pytest.fixture(autouse=True)
def _no_processes_are_left() -> Iterator[None]:
    yield
    close_readers()


def prose(seed: int, sentences: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=14)).capitalize() + "." for _ in range(sentences)]


def template(seed: int) -> tuple[str, str]:
    """The menu and the footer of a site: 400 links of three words."""
    rng = random.Random(seed)
    links = [f'<li><a href="/{k}">{" ".join(rng.choices(WORDS, k=3))}</a></li>' for k in range(400)]
    menu = f"<header><nav class='menu'><ul>{''.join(links[:250])}</ul></nav></header>"
    return menu, f"<footer id='footer'><ul>{''.join(links[250:])}</ul></footer>"


def page(article: int, site: int) -> str:
    menu, footer = template(1000 + site)
    sentences = prose(article, 9)
    body = "".join(f"<p>{' '.join(sentences[at : at + 3])}</p>" for at in range(0, 9, 3))
    return (
        f"<html><head><title>x</title></head><body>{menu}<main><article>{body}</article></main>{footer}</body></html>"
    )


def jaccard(a: str, b: str) -> float:
    first, second = ({tuple(words[i : i + 5]) for i in range(len(words) - 4)} for words in (a.split(), b.split()))
    return len(first & second) / len(first | second)


def main(*pages: str | bytes | None) -> list[str | None]:
    kind = pa.binary() if any(isinstance(page, bytes) for page in pages) else pa.string()
    texts: list[str | None] = main_texts(pa.array(pages, kind))[0].to_pylist()
    return texts


def test_an_article_under_two_menus_is_a_near_duplicate_only_by_its_main_text() -> None:
    a, b = page(1, site=1), page(1, site=2)
    assert jaccard(visible_text(a), visible_text(b)) < 0.2
    one, other = main(a, b)
    assert one is not None
    assert other is not None
    assert jaccard(one, other) > 0.95
    assert all(sentence in one for sentence in prose(1, 9))


def test_articles_under_one_menu_are_near_duplicates_only_with_it() -> None:
    a, b = page(1, site=1), page(2, site=1)
    assert jaccard(visible_text(a), visible_text(b)) > 0.8
    one, other = main(a, b)
    assert one is not None
    assert other is not None
    assert jaccard(one, other) < 0.05


def test_a_page_without_main_text_counts_by_what_is_visible() -> None:
    short = "<a href='/'>home</a> <a href='/b'>news</a><script>x = 1</script>"
    texts, counts = main_texts(pa.array([short, page(3, site=1), None, ""]))
    assert texts.type == pa.large_string()
    assert texts.to_pylist()[::2] == ["home news", None]
    assert texts[3].as_py() == ""
    assert counts == {"html_fallback": 2, "html_broken": 0}


def test_visible_text_is_that_of_blocks_without_scripts() -> None:
    source = (
        "<title>no</title><style>no</style><p>a <b>bold</b>\n word &amp; more<br>next<ul><li>one<li>two</ul><!-- no -->"
    )
    assert visible_text(f"<head>{source.replace('<p>', '</head><p>')}") == "a bold\nword & more\nnext\none\ntwo"
    assert visible_text("<head><body>shown</body>") == "shown"


def test_bytes_are_read_in_the_encoding_that_the_page_says() -> None:
    said = f"<html><head><meta charset='iso-8859-2'></head><body><p>{'žluťoučký kůň ' * 30}</p></body></html>"
    quiet = f"<html><body><p>{'déjà vu “x” ' * 30}</p></body></html>"
    odd = f"<html><head><meta charset='no-such'></head><body><p>{'été ' * 90}</p></body></html>"
    declared = f"<?xml version='1.0' encoding='utf-8'?><html><body><p>{'kůň běží ' * 40}</p></body></html>"
    texts = main(said.encode("iso-8859-2"), quiet.encode("cp1252"), odd.encode("cp1252"), declared.encode())
    for text, words in zip(texts, ("žluťoučký kůň", "déjà vu “x”", "été été", "kůň běží"), strict=True):
        assert text is not None
        assert words in text


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.text() | st.binary().map(lambda raw: raw.decode("latin-1")) | st.sampled_from(["<", "</p>", "<![", "&#x;"])
    )
)
def test_broken_html_never_raises(pieces: list[str]) -> None:
    source = "<p>".join(pieces)
    texts, counts = main_texts(pa.array([source.encode("utf-8", "surrogatepass")]))
    assert texts[0].as_py() is not None
    assert counts["html_broken"] in (0, 1)
    assert main_texts(pa.array([source.encode("utf-8", "surrogatepass")]))[0] == texts


def test_a_page_on_which_the_extractor_fails_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import trafilatura

    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr(trafilatura, "extract", fail)
    texts, counts = main_texts(pa.array(["<p>still here"]))
    assert texts.to_pylist() == ["still here"]
    assert counts == {"html_fallback": 1, "html_broken": 1}


def test_processes_give_the_same_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "_SHARE", 3)
    pages = pa.array([None, *(page(k, site=k % 3) for k in range(6)), "<p>short", ""])
    assert main_texts(pages, 2) == main_texts(pages, 1) == main_texts(pages, 2)


def test_a_page_that_kills_its_process_is_a_broken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    killer = """
import os, lookalike.represent.html as html
read = html._read_pages
html._read_pages = lambda pages: os._exit(9) if any(page and b"kill" in page for page in pages) else read(pages)
html.serve()
"""
    start = subprocess.Popen

    def started(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        return start([*command[:2], killer], **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(html, "_SHARE", 2)
    pages = pa.array([page(1, site=1), "<p>kill", None, page(2, site=1)])
    texts, counts = main_texts(pages, 2)
    assert texts[1].as_py() == "kill"
    assert texts.take([0, 2, 3]) == main_texts(pages.take([0, 2, 3]))[0]
    assert counts == {"html_fallback": 1, "html_broken": 1}


def test_a_process_that_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setattr(html, "_SHARE", 1)
    with pytest.raises(RuntimeError, match="a process to read HTML could not be started"):
        main_texts(pa.array(["a", "b"]), 2)


def test_without_trafilatura_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    with pytest.raises(ImportError, match=r"pip install 'lookalike\[html\]'"):
        main_texts(pa.array(["x"]))
