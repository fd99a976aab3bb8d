r"""The text that LaTeX stands for, as far as BibTeX files write it: {\"u} is ü, {\ss} is ß, and braces are gone.

Accents become characters, `\emph{tea}` and its like their argument, `~` a space, `\&` an ampersand. Other commands and
formulas stay as they are written, only without braces.

Libraries that know all of LaTeX take 0.2 ms for a name (latexcodec 3.0), or 8 ms for an entry of six fields (pylatexenc
2.11): minutes for 100,000 entries. This takes 4 µs for a name with an accent (docs/internals.md).
"""

from __future__ import annotations

import re
import unicodedata

_COMBINING = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
    "b": "\u0331",
}  # fmt: skip
_LETTERS = {
    "ss": "ß", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "o": "ø", "O": "Ø", "l": "ł",
    "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "dj": "đ", "DJ": "Đ", "th": "þ", "TH": "Þ", "ng": "ŋ",
    "NG": "Ŋ", "textendash": "–", "textemdash": "—", "textquoteright": "’", "textquoteleft": "‘", "dots": "…",
    "ldots": "…", "textasciitilde": "~", "textbackslash": "\\", "S": "§", "copyright": "©", "pounds": "£",
}  # fmt: skip
_SPECIAL = re.compile(r"[\\{}~]")
# An accent over a letter, in braces or not; a dot is taken from i and j, where it would be in the way.
_ACCENT = re.compile(r"""\\(?:([`'^~=."])|([uvHcdbrk])(?![a-zA-Z]))\s*(?:\{\s*\\?([^\W\d_]?)\s*\}|\\?([^\W\d_]))""")
_LETTER = re.compile(rf"\\({'|'.join(sorted(_LETTERS, key=len, reverse=True))})(?![a-zA-Z])(?:\{{\}}|[ \t\n]*)")
_STYLE = re.compile(
    r"\\(?:(?:emph|textit|textbf|textsc|textrm|textsf|texttt|textup|textsuperscript|textsubscript|text|mbox|hbox|url)(?=\s*\{)"
    r"|(?:em|it|bf|sc|rm|sf|tt|itshape|bfseries|scshape)(?![a-zA-Z])\s*)"
)
_REST = re.compile(r"\\([&%$#_{}])|\\[ ,/]|[{}~]")

__all__ = ["plain_text"]


def plain_text(text: str) -> str:
    r"""Text without LaTeX, in one line.

    >>> plain_text(r'The {TEX} of M{\\"u}ller \\& {\\O}rsted')
    'The TEX of Müller & Ørsted'
    """
    text = " ".join(text.split())
    if _SPECIAL.search(text):
        text = _ACCENT.sub(_accented, text)
        text = _LETTER.sub(lambda found: _LETTERS[found[1]], text)
        text = " ".join(_REST.sub(_without, _STYLE.sub("", text)).split())
    return text


def _accented(found: re.Match[str]) -> str:
    letter = found[3] or found[4] or ""
    return unicodedata.normalize("NFC", letter + _COMBINING[found[1] or found[2]]) if letter else ""


def _without(found: re.Match[str]) -> str:
    if found[1]:
        return found[1]
    return " " if found[0] in ("~", "\\ ", "\\,") else ""
