"""Citations in one line of text, parted into columns as a file of references would have them.

    title and authors and journal and year     bib_*: "Title Surname, X. and Surname, Y. Journal 1998"
    title and authors and venue and year       dblp_acm: "Title First Last, First Last VLDB 1998"
    citation, its numbers, and year            cora: no order that could be relied on; volume and pages are numbers

Rules of thumb: where they fail, all that is before the year is the title, and a column is empty.
"""

from __future__ import annotations

import re

__all__ = ["COMPARED", "parted"]

_YEAR = re.compile(r"\b(?:18|19|20)\d\d\b")
_PARTICLES = ("de", "van", "von", "der", "den", "la", "di", "del", "el", "al", "da", "dos", "le")
_SUFFIX = re.compile(r", (Jr\.?|2nd|3rd|III?)(?= |$)")
_AUTHOR = re.compile(r"(?:[^\s,]+ ){0,3}[^\s,]+, \S")
_INITIALS = re.compile(r"(?:[A-Z]\.?[- ])+(?:Jr\.? )?")
_GIVEN = re.compile(r"\S+ (?:[A-Z]\.? )*")
_ALONE = re.compile(r"(?:[A-Z]\.?[- ])+|[A-Z][^\s.,]+(?: [A-Z]\.)* [A-Z]")
_VENUES = (
    "The VLDB Journal &mdash; The International Journal on Very Large Data Bases",
    "ACM Transactions on Database Systems (TODS)", "International Conference on Management of Data",
    "Very Large Data Bases", "ACM SIGMOD Record", "SIGMOD Record", "SIGMOD Conference", "ACM Trans. Database Syst.",
    "VLDB J.", "VLDB",
)  # fmt: skip

_USUAL = ["title:char:4:2", "authors:word:1", "year:equal"]
# How the records of each folder are compared.
COMPARED = {
    "bib_stroke": _USUAL,
    "bib_respiratory": _USUAL,
    "bib_cytology_screening": _USUAL,
    "dblp_acm": _USUAL,
    "cora": ["citation:word:1:6", "numbers:word:1", "year:equal"],
}

Columns = dict[str, str | None]


def parted(name: str, text: str) -> Columns:
    """The columns of a citation of the folder of this name."""
    if name == "cora":
        years = _YEAR.findall(text)
        year, rest = (years[-1], text.replace(years[-1], " ")) if years else (None, text)
        return {"citation": rest, "numbers": " ".join(re.findall(r"\d+", rest)) or None, "year": year}
    found = re.search(rf"\s*({_YEAR.pattern})\s*$", text)
    year, rest = (found[1], text[: found.start()].strip()) if found else (None, text.strip())
    return (_database(rest) if name == "dblp_acm" else _medical(rest)) | {"year": year}


def _medical(text: str) -> Columns:
    """Authors are "Surname, Given" with "and" between them; the journal follows the last given name."""
    parts = _SUFFIX.sub(r" \1", text).split(" and ")
    begin = next((place for place in range(len(parts)) if _begins(parts, place)), None)
    if begin is None:
        return {"title": text, "authors": None, "journal": None}
    end = begin + 1
    while end < len(parts) and _AUTHOR.match(parts[end]):
        end += 1
    names, rest = parts[begin:end], parts[end:]
    before, given = names[0].rsplit(", ", 1)
    words = before.split(" ")
    surname = 1
    while surname < len(words) and words[-surname - 1].lower() in _PARTICLES:
        surname += 1
    title = " and ".join([*parts[:begin], " ".join(words[:-surname])])
    names[0] = f"{' '.join(words[-surname:])}, {given}"
    last, tail = names[-1].split(", ", 1)
    name = _INITIALS.match(tail + " ") or _GIVEN.match(tail + " ")
    assert name is not None, "something follows the comma"
    names[-1] = f"{last}, {tail[: name.end()].strip()}"
    journal = " and ".join([tail[name.end() :].strip(), *rest]).strip()
    return {"title": title.strip(), "authors": " and ".join(names), "journal": journal or None}


def _begins(parts: list[str], place: int) -> bool:
    """Whether the first author stands at the end of this part."""
    if ", " not in parts[place]:
        return False
    given = parts[place].rsplit(", ", 1)[1]
    if place + 1 < len(parts) and _AUTHOR.match(parts[place + 1]):
        words = given.replace(".", " ").split()
        return len(given.split()) <= 4 and all(word[:1].isupper() or word in _PARTICLES for word in words)
    return bool(_ALONE.match(given + " "))


def _database(text: str) -> Columns:
    """Authors are "First Last" with commas between them, the first right behind the title."""
    venue = next((venue for venue in _VENUES if text.endswith(venue)), None)
    parts = (text.removesuffix(venue) if venue else text).strip().split(", ")
    first = len(parts) - 1
    while first > 0 and _is_name(parts[first]):
        first -= 1
    words = ", ".join(parts[: first + 1]).split(" ")
    name = 3 if len(words) > 3 and re.fullmatch(r"[A-Z]\.", words[-2]) else 2
    authors = [" ".join(words[-name:]), *parts[first + 1 :]]
    return {"title": " ".join(words[:-name]), "authors": ", ".join(authors), "venue": venue}


def _is_name(text: str) -> bool:
    words = text.split()
    return len(words) <= 4 and all(word[:1].isupper() or word.lower() in _PARTICLES for word in words)
