"""Training data for a language model, without near-copies, lines that stand everywhere, and the test set."""

import random

import pyarrow as pa

import lookalike

WORDS = [a + b for a in ("ba", "de", "fi", "go", "ku", "la") for b in ("lor", "min", "nak", "res", "tan", "vey")]
NOTICE = "This site uses cookies to give you the best experience. Accept all or read more."


def paragraph(draw: random.Random) -> str:
    return " ".join(draw.choices(WORDS, k=60)).capitalize() + "."


def main() -> dict[str, pa.Table]:
    draw = random.Random(1)
    exam = pa.table({"text": [paragraph(draw) for _ in range(5)]})
    texts = [f"{NOTICE}\n\n{paragraph(draw)}\n\n{paragraph(draw)}" for _ in range(200)]
    # Fifty documents were crawled a second time, with a word changed; five quote a question of the exam.
    crawled_again = [text.replace(draw.choice(text.split()), "today", 1) for text in texts[:50]]
    for n, question in enumerate(exam["text"].to_pylist()):
        texts[100 + n] += "\n\n" + question.upper()
    data = pa.table({"id": [f"doc {n}" for n in range(250)], "text": texts + crawled_again})

    steps = {"crawled": data}
    steps["no near-copies"] = lookalike.dedup(data, threshold=0.8, id="id").table
    steps["no repeated lines"] = lookalike.dedup(steps["no near-copies"], unit="line", exact=True).table
    steps["no test set"] = lookalike.dedup(steps["no repeated lines"], unit="paragraph", against=exam).table
    for name, table in steps.items():
        print(f"{name:>17}: {table.num_rows:3} documents, {sum(map(len, table['text'].to_pylist())):7,} characters")
    return {"exam": exam} | steps


if __name__ == "__main__":
    main()
