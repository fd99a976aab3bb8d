"""How text becomes a set: which tokens, how many together, and what is ignored about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lookalike.errors import OptionError
from lookalike.wording.phrases import did_you_mean

__all__ = ["NORMALIZATIONS", "Shingle", "parse_normalize", "parse_shingle"]

NORMALIZATIONS = ("lower", "accents", "digits", "punctuation", "whitespace")

# k must be large enough that most shingles are absent from most documents: five words, or about nine characters of a
# long document and five of a short one. Beyond 64 a single changed word spoils most of a page.
MAX_K = 64

# Words never hold white space or punctuation, so folding case is all that is left to ignore about them.
_DEFAULT_NORMALIZE = {"word": frozenset({"lower"}), "char": frozenset({"lower", "whitespace"})}


@dataclass(frozen=True, slots=True)
class Shingle:
    """k consecutive words or characters; as a set, or as a bag where repeats count.

    `tokens` replaces the built-in words: a callable from a text to its tokens.
    """

    kind: str = "word"
    k: int = 5
    bag: bool = False
    normalize: frozenset[str] = frozenset({"lower"})
    tokens: Callable[[str], Iterable[str]] | None = None

    def __str__(self) -> str:
        return f"{self.kind}:{self.k}" + (":bag" if self.bag else "")


def parse_shingle(
    text: str,
    *,
    normalize: Iterable[str] | str | None = None,
    tokens: Callable[[str], Iterable[str]] | None = None,
) -> Shingle:
    """A `Shingle` from `word:5`, `char:9` or `word:3:bag`; `normalize=None` means the kind's default."""
    kind, *rest = text.split(":")
    bag = rest[-1:] == ["bag"]
    rest = rest[:-1] if bag else rest
    if kind not in _DEFAULT_NORMALIZE or len(rest) != 1 or not rest[0].isascii() or not rest[0].isdigit():
        raise OptionError(f"shingle is {text!r}: it must be word:K or char:K, for example word:5, char:9, word:3:bag")
    k = int(rest[0])
    if not 1 <= k <= MAX_K:
        raise OptionError(f"shingle is {text!r}: K must be from 1 to {MAX_K}")
    if tokens is not None and kind == "char":
        raise OptionError(f"shingle is {text!r}: a tokens callable goes with word:K")
    if tokens is not None and normalize is not None:
        raise OptionError("normalize does not go with a tokens callable: its tokens are taken as they are")
    chosen = _DEFAULT_NORMALIZE[kind] if normalize is None else parse_normalize(normalize)
    return Shingle(kind, k, bag, chosen, tokens)


def parse_normalize(names: Iterable[str] | str) -> frozenset[str]:
    """The set of normalisations from names or from `lower,digits`; `none` is no normalisation."""
    listed = names.split(",") if isinstance(names, str) else list(names)
    chosen = frozenset(name.strip() for name in listed) - {"none", ""}
    unknown = sorted(chosen - set(NORMALIZATIONS))
    if unknown:
        near = did_you_mean(unknown[0], (*NORMALIZATIONS, "none"))
        raise OptionError(f"normalize is {unknown[0]!r}: it must be among {', '.join(NORMALIZATIONS)}, or none{near}")
    return chosen
