"""Have I seen this page before? Today's crawl against the archive: what is new, and what is an old page again.

The archive is read with each run. An index that is kept between runs is still to come.
"""

import random

import pyarrow as pa

import lookalike

WORDS = [a + b for a in ("ba", "de", "fi", "go", "ku", "la") for b in ("lor", "min", "nak", "res", "tan", "vey")]


def main() -> tuple[dict[str, str], list[str]]:
    draw = random.Random(4)
    archive = [" ".join(draw.choices(WORDS, k=200)) for _ in range(500)]
    # Today: a page that moved, one with a new date, one that quotes an old page in passing, and two new ones.
    moved, dated, quoted = archive[120], archive[7] + " updated today", archive[33][:100]
    new = [" ".join(draw.choices(WORDS, k=200)) for _ in range(3)]
    today = pa.table({
        "url": ["/moved", "/dated", "/quotes", "/new", "/also-new"],
        "text": [moved, dated, quoted + new[0], new[1], new[2]],
    })  # fmt: skip
    seen = pa.table({"url": [f"/old/{n}" for n in range(500)], "text": archive})

    result = lookalike.dedup(today, against=seen, id="url", threshold=0.8)
    for row in result.removed.to_pylist():
        print(f"{row['id']:>9}  seen before as {row['kept']}, similarity {row['similarity']:.3f}")
    new_urls = result.table["url"].to_pylist()
    for url in new_urls:
        print(f"{url:>9}  is new")
    return {row["id"]: row["kept"] for row in result.removed.to_pylist()}, new_urls


if __name__ == "__main__":
    main()
