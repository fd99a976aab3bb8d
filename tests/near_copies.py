"""Collections with near-duplicates of every degree, made from a seed."""

from __future__ import annotations

import random

__all__ = ["near_copies"]


def near_copies(seed: int, *, families: int = 8, copies: int = 5, words: int = 30) -> list[str]:
    """Texts in families: each member is the first one with up to a third of its words changed, some with none."""
    rng = random.Random(seed)
    vocabulary = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]
    texts = []
    for _ in range(families):
        first = rng.choices(vocabulary, k=words)
        for _ in range(copies):
            changed = list(first)
            for place in rng.sample(range(words), rng.randrange(words // 3)):
                changed[place] = rng.choice(vocabulary)
            texts.append(" ".join(changed[: words - rng.randrange(3)]))
        texts.append(rng.choice(texts))
    rng.shuffle(texts)
    return texts
