"""Nothing that is printed for people acts on their terminal."""

from __future__ import annotations

import sys
import unicodedata

from lookalike.errors import InputError, OptionError
from lookalike.wording.printable import printable

ACTING = "\x1b[31m\x07\x08\r\n\t\x7f\x9b1m\x85\u202eabc\u202c\u2066\u2069\u200f\u061c\u2028\ufeff\U000e0041\udcff\ud800"


def test_characters_that_act_are_spelled_out() -> None:
    assert printable("\x1b[31mred\x1b[0m") == r"\x1b[31mred\x1b[0m"
    assert printable("a\r\nb\tc") == r"a\r\nb\tc"
    assert printable("a\tb", keep="\t") == "a\tb"
    assert printable("\udcff.txt") == r"\xff.txt"
    assert printable("\u202egnp.exe") == r"\u202egnp.exe"
    assert all(part.isprintable() for part in printable(ACTING))
    assert printable(ACTING).encode("utf-8")


def test_what_people_write_stays_as_it_is() -> None:
    for text in (
        "Größe, 字, עברית, عربي",
        "می\u200cخواهم",
        "👩\u200d👩\u200d👧",
        "a\u00adb",
        "x = '\\n'",
        "naïve\u00a0café",
    ):
        assert printable(text) == text


def test_every_control_and_separator_of_unicode_is_spelled_out() -> None:
    kinds = {"Cc", "Cs", "Zl", "Zp"}
    acting = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in kinds]
    assert not [each for each in acting if printable(each) == each]
    turning = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    bidi = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.bidirectional(chr(code)) in turning]
    assert not [each for each in bidi if printable(each) == each]


def test_errors_are_one_line_in_which_nothing_acts() -> None:
    for kind in (InputError, OptionError):
        message = str(kind(f"file {ACTING}: broken"))
        assert message.startswith("file \\x1b[31m")
        assert message.isprintable()
        # Wrapped in another error it stays as it is.
        assert str(kind(message)) == message
