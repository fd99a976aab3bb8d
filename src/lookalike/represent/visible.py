"""The text of a web page that a browser would show, a line for each block; whatever the page is like.

A tokeniser after the HTML standard (WHATWG, 13.2.5), as far as text depends on it. Where something is never closed, a
comment, a tag, the quotes of an attribute, a script, the rest of the page belongs to it. So every character is looked
at a few times at most, and the time is linear in the length of the page: Python's own parser looks for the end of each
of 40,000 comments that have none, which takes 23 seconds.

    <p>one <b>two</b></p><script>x</script>three   →   one two
                                                        three
"""

from __future__ import annotations

import html
import re

__all__ = ["visible_text"]

_HIDDEN = frozenset({"script", "style", "head", "noscript", "template", "svg", "iframe", "object"})
# Elements that do not part words or begin a line.
_INLINE = frozenset(
    [
        "a",
        "abbr",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
# Their content is text up to their own end tag, whatever it looks like; of the last two with character references.
_RAW = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title"})
_REFERENCES = frozenset({"textarea", "title"})

_NAME_END = re.compile(r"[\t\n\f\r />]")
_ATTRIBUTE_START = re.compile(r"[^\t\n\f\r /]")
_ATTRIBUTE_END = re.compile(r"[\t\n\f\r />=]")
_NOT_SPACE = re.compile(r"[^\t\n\f\r ]")
_VALUE_END = re.compile(r"[\t\n\f\r >]")
_COMMENT_END = re.compile(r"--!?>")
_RAW_END = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE) for name in _RAW}
# A number that is no character, however long; Python refuses to read thousands of digits.
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{20,}|[xX][0-9a-fA-F]{20,});?")


def visible_text(page: str) -> str:
    """All text that a browser would show, a line for each block."""
    lines = (" ".join(line.split()) for line in "".join(_PageReader(page).pieces()).splitlines())
    return "\n".join(line for line in lines if line)


class _PageReader:
    """Walks through a page once, and gathers the text outside of hidden elements."""

    def __init__(self, page: str) -> None:
        self._page = page
        self._pieces: list[str] = []
        self._hidden = _Hidden()

    def pieces(self) -> list[str]:
        """The text, with line breaks between blocks."""
        page, at = self._page, 0
        while at < len(page):
            start = self._find("<", at)
            self._text(at, start)
            after = page[start + 1 : start + 2]
            if after.isalpha() and after.isascii():
                at = self._start_tag(start + 1)
            elif after == "/":
                at = self._end_tag(start + 2)
            elif after == "!":
                at = self._declaration(start + 2)
            elif after == "?":
                at = self._find(">", start) + 1
            else:
                self._text(start, start + 1)
                at = start + 1
        return self._pieces

    def _find(self, what: str, at: int) -> int:
        """Where something stands from here on; the end of the page if nowhere."""
        found = self._page.find(what, at)
        return len(self._page) if found < 0 else found

    def _search(self, pattern: re.Pattern[str], at: int) -> tuple[int, int]:
        """Where a match begins and ends from here on; the end of the page, twice, if nowhere."""
        found = pattern.search(self._page, at)
        return found.span() if found else (len(self._page), len(self._page))

    def _text(self, start: int, end: int, *, references: bool = True) -> None:
        if start < end and not self._hidden:
            text = self._page[start:end]
            self._pieces.append(html.unescape(_NO_CHARACTER.sub("\ufffd", text)) if references else text)

    def _break(self, tag: str) -> None:
        if tag not in _INLINE:
            self._pieces.append("\n")

    def _start_tag(self, at: int) -> int:
        end = self._search(_NAME_END, at)[0]
        tag = self._page[at:end].lower()
        end, closed = self._tag_end(end)
        if end > len(self._page):
            return end
        self._break(tag)
        if tag == "body":
            # A head that was never closed hides nothing.
            self._hidden.clear()
        if "svg" in self._hidden:
            # Where XML is written inside, a tag may close itself, and no content is raw.
            if tag in _HIDDEN and not closed:
                self._hidden.push(tag)
            return end
        if tag in _RAW:
            return self._raw(tag, end)
        if tag == "plaintext":
            self._text(end, len(self._page), references=False)
            return len(self._page)
        if tag in _HIDDEN and not (closed and tag == "svg"):
            self._hidden.push(tag)
        return end

    def _end_tag(self, at: int) -> int:
        first = self._page[at : at + 1]
        if not (first.isalpha() and first.isascii()):
            return self._find(">", at) + 1
        end = self._search(_NAME_END, at)[0]
        tag = self._page[at:end].lower()
        end = self._tag_end(end)[0]
        if end <= len(self._page):
            self._hidden.pop(tag)
            self._break(tag)
        return end

    def _tag_end(self, at: int) -> tuple[int, bool]:
        """Where the text behind a tag begins, past the end of the page if it has no end; whether it closes itself."""
        page = self._page
        while True:
            at = self._search(_ATTRIBUTE_START, at)[0]
            if at == len(page):
                return at + 1, False
            if page[at] == ">":
                return at + 1, page[at - 1] == "/"
            # A name may begin with "=".
            at = self._search(_ATTRIBUTE_END, at + 1)[0]
            value = self._search(_NOT_SPACE, at)[0]
            if page[value : value + 1] == "=":
                at = self._value_end(self._search(_NOT_SPACE, value + 1)[0])

    def _value_end(self, at: int) -> int:
        quote = self._page[at : at + 1]
        if quote and quote in "\"'":
            return self._find(quote, at + 1) + 1
        return self._search(_VALUE_END, at)[0]

    def _declaration(self, at: int) -> int:
        """A comment, or what is read as one."""
        if not self._page.startswith("--", at):
            return self._find(">", at) + 1
        for short in ("-->", "--->"):
            if self._page.startswith(short, at):
                return at + len(short)
        return self._search(_COMMENT_END, at + 2)[1]

    def _raw(self, tag: str, at: int) -> int:
        """The content of an element that is not read as HTML."""
        end = self._search(_RAW_END[tag], at)[0]
        if tag not in _HIDDEN:
            self._text(at, end, references=tag in _REFERENCES)
        if end == len(self._page):
            return end
        self._break(tag)
        return self._tag_end(end + 2 + len(tag))[0]


class _Hidden:
    """The hidden elements that are open; an end tag closes the outermost of its name, with all inside."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._outermost: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def __contains__(self, tag: str) -> bool:
        return tag in self._outermost

    def push(self, tag: str) -> None:
        self._outermost.setdefault(tag, len(self._open))
        self._open.append(tag)

    def pop(self, tag: str) -> None:
        place = self._outermost.get(tag, len(self._open))
        for closed in self._open[place:]:
            if self._outermost.get(closed, -1) >= place:
                del self._outermost[closed]
        del self._open[place:]

    def clear(self) -> None:
        self._open.clear()
        self._outermost.clear()
