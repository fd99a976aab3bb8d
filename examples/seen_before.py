"""Have I seen this page before? An index of all pages so far, asked and added to one page at a time.

The index stays in its folder: tomorrow's crawl opens it and costs only tomorrow's pages.
"""

import random
import tempfile
from pathlib import Path

from lookalike import Index

WORDS = [a + b for a in ("ba", "de", "fi", "go", "ku", "la") for b in ("lor", "min", "nak", "res", "tan", "vey")]


def main() -> tuple[dict[str, str], list[str]]:
    draw = random.Random(4)
    archive = [" ".join(draw.choices(WORDS, k=200)) for _ in range(500)]
    # Today: a page that moved, one with a new date, one that quotes an old page in passing, and two new ones.
    moved, dated, quoted = archive[120], archive[7] + " updated today", archive[33][:100]
    new = [" ".join(draw.choices(WORDS, k=200)) for _ in range(3)]
    today = {"/moved": moved, "/dated": dated, "/quotes": quoted + new[0], "/new": new[1], "/also-new": new[2]}

    seen: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seen.idx"
        with Index.create(path, threshold=0.8) as index:
            index.add_many((f"/old/{n}", page) for n, page in enumerate(archive))
        with Index.open(path) as index:
            for url, page in today.items():
                match = index.seen(url, page)
                if match is not None:
                    seen[url] = match.id
                    print(f"{url:>9}  seen before as {match.id}, similarity {match.similarity:.3f}")
                else:
                    print(f"{url:>9}  is new")
            print(f"the index has {len(index)} pages now")
    return seen, [url for url in today if url not in seen]


if __name__ == "__main__":
    main()
