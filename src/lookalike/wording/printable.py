"""What may be shown on a terminal: text in which nothing acts.

Ids, file names, texts and the messages about them come from anywhere. An escape sequence in one of them could colour,
hide or rewrite what stands on the screen, or set its title; a carriage return could overwrite the line; a bidirectional
override could turn it around. So everything that is printed for people goes through `printable`, which spells such
characters out as Python does (`\\x1b`). Files, JSON and tables that are written are exact.

Joiners stay, which Persian and emoji need: they change nothing outside of their word.
"""

from __future__ import annotations

import os
import re

__all__ = ["printable", "spelled"]

# C0 and C1 controls; marks, embeddings, overrides and isolates of direction; separators of lines and paragraphs;
# characters that were meant to be invisible commands; lone surrogates, which stand for bytes that are not UTF-8.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def printable(text: str, keep: str = "") -> str:
    r"""The text with every character that would act spelled out, except those in `keep`.

    >>> printable("\x1b[31mred\x9b0m")
    '\\x1b[31mred\\x9b0m'
    """
    return _ACTING.sub(lambda found: found[0] if found[0] in keep else _spelled(found[0]), text)


def spelled(name: str) -> str:
    """The name of a file as text: bytes that are not UTF-8 as \\xff, since columns and reports can not hold them."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _spelled(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return _NAMED.get(character, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
