"""One story in many papers: each shortens it and changes words, and clusters bring the versions together again."""

import random

import pyarrow as pa

import lookalike

TOPICS = ["flood", "election", "strike", "eclipse", "festival", "merger", "trial", "rescue", "harvest", "derby"]
PAPERS = ["Courier", "Gazette", "Herald", "Mercury", "Observer", "Tribune"]
WORDS = [a + b for a in ("ba", "de", "fi", "go", "ku", "la") for b in ("lor", "min", "nak", "res", "tan", "vey")]


def edited(story: list[str], draw: random.Random) -> str:
    """A paper's version: one word in forty is another, and up to a fifth is cut from the end."""
    words = [draw.choice(WORDS) if draw.random() < 1 / 40 else word for word in story]
    return " ".join(words[: int(len(words) * draw.uniform(0.8, 1.0))])


def main() -> tuple[list[str], list[list[str]]]:
    draw = random.Random(7)
    rows = []
    for topic in TOPICS:
        story = [f"the {topic}", *draw.choices(WORDS, k=200)]
        papers = draw.sample(PAPERS, draw.randint(1, 5))
        rows += [{"id": f"{paper}: {topic}", "text": edited(story, draw)} for paper in papers]
    draw.shuffle(rows)

    # Stories are alike from half of their three-word shingles on; the longest version stands for its cluster.
    found = lookalike.clusters(pa.Table.from_pylist(rows), id="id", threshold=0.5, shingle="word:3", keep="longest")
    print(f"{len(rows)} articles, {len(found)} stories that several papers have")
    for cluster in found:
        print("  " + ", ".join(sorted(cluster)))
    return [row["id"] for row in rows], list(found)


if __name__ == "__main__":
    main()
