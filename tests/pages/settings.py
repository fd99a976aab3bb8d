"""What stands in the folder in which the blocks of a page are run: small files with the names that the page uses."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import lookalike
from tests.drawn import encoded, scene

__all__ = ["prepare"]

_WORDS = tuple(a + b for a in ("ba", "de", "fi", "go", "ku", "la") for b in ("lor", "min", "nak", "res", "tan"))
_QUESTION = "which of the planets that go round the sun has the largest number of moons of them all"


def prepare(page: str) -> None:
    """Make the files of a page in the working folder."""
    _SETTINGS.get(page, lambda: None)()


def _texts(seed: int = 0) -> list[str]:
    """Twelve texts, of which the last is nearly the first."""
    draw = random.Random(seed)
    texts = [" ".join(draw.choice(_WORDS) for _ in range(30)) + "." for _ in range(11)]
    return [*texts, texts[0] + " So they said."]


def _lines(path: str, rows: list[dict[str, object]]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _articles(path: str, seed: int = 0) -> None:
    rows: list[dict[str, object]] = [
        {"id": f"{seed}-{at}", "title": f"t{at}", "text": text} for at, text in enumerate(_texts(seed))
    ]
    _lines(path, [row | {"url": f"/{row['id']}"} for row in rows])


def _pages(path: str, seed: int = 0) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    texts = _texts(seed)
    urls = [f"/{seed}/{at}" for at in range(len(texts))]
    pq.write_table(pa.table({"url": urls, "title": urls, "text": texts}), path)


def _readme() -> None:
    for number, name in enumerate(("docs", "ours", "theirs", "pages", "new")):
        _articles(f"{name}.jsonl", number)
    _pages("train.parquet")
    _articles("test.jsonl", 9)
    rng = np.random.default_rng(0)
    np.save("base.npy", rng.normal(size=(50, 8)).astype(np.float32))
    np.save("queries.npy", rng.normal(size=(3, 8)).astype(np.float32))
    Path("log.csv").write_text("user,item\nann,tea\nann,milk\nbob,tea\nbob,milk\n")
    _pictures()
    _records()
    for name in ("A.txt", "B.txt", "page.txt"):
        Path(name).write_text(_texts()[0])


def _pictures() -> None:
    for folder in ("photos", "new"):
        Path(folder).mkdir(exist_ok=True)
    Path("photos/a.png").write_bytes(encoded(scene(0)))
    Path("photos/b.jpg").write_bytes(encoded(scene(0), "jpeg"))
    Path("photos/c.png").write_bytes(encoded(scene(1)))
    Path("new/d.png").write_bytes(encoded(scene(1)))


def _training_data() -> None:
    for number in range(2):
        _pages(f"crawl/{number}.parquet", number)
    _lines("test.jsonl", [{"question": _QUESTION}])


def _decontaminate() -> None:
    copies = ["the very same page twice over"] * 2
    pq.write_table(pa.table({"text": [f"Quiz! {_QUESTION.upper()}? And so on.", *copies]}), "train.parquet")
    _lines("test.jsonl", [{"question": _QUESTION}])


def _containment() -> None:
    _articles("texts.jsonl")


def _news() -> None:
    for number in range(2):
        _articles(f"news/{number}.jsonl", number)


def _users_and_items() -> None:
    Path("log.csv").write_text("user,item\nann,tea\nann,milk\nbob,tea\nbob,milk\neve,rum\n")
    Path("clicks.csv").write_text("user,page,count\nann,a,3\nann,b,2\nbob,a,6\nbob,b,4\neve,c,1\n")
    Path("friends.csv").write_text("from,to\nann,bob\nann,eve\nzoe,bob\nzoe,eve\n")


def _vectors() -> None:
    rng = np.random.default_rng(0)
    np.save("base.npy", rng.normal(size=(50, 8)).astype(np.float32))
    np.save("queries.npy", rng.normal(size=(3, 8)).astype(np.float32))
    embedded = pa.array(rng.normal(size=(20, 8)).tolist(), pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": range(20), "embedding": embedded}), "docs.parquet")


def _tune() -> None:
    records = {
        "a": "Smith, J. and Wong, L. Stroke after heart surgery. Lancet 1998",
        "b": "J Smith, L Wong: Stroke after heart surgery, Lancet 351 (1998)",
        "c": "Miller, A. Sleep and memory in old age. Nature 2004",
        "d": "A. Miller. Sleep and memory in old age. Nature, 2004.",
        "e": "Okafor, C. Vaccines for the tropics. BMJ 2011",
        "f": "Brown, K. Teeth of early mammals. Science 1987",
    }
    _lines("records.jsonl", [{"id": name, "text": text} for name, text in records.items()])
    Path("gold.tsv").write_text("a\tb\nc\td\n")


def _large_collections() -> None:
    for number in range(2):
        _pages(f"crawl/{number}.parquet", number)


def _runs() -> None:
    texts = ["the cat sat on the mat", "a dog barked", "The cat sat on the mat!", "the cat sat on that mat"]
    pq.write_table(pa.table({"id": ["a", "b", "c", "d"], "text": texts}), "docs.parquet")
    lookalike.dedup("docs.parquet", id="id", shingle="word:1", threshold=0.5).save("run")


def _run_an_index() -> None:
    for number, name in enumerate(("crawl", "corpus", "tomorrow", "new")):
        _pages(f"{name}.parquet", number)
    Path("page.txt").write_text(_texts()[0])
    _lines("pages.jsonl", [{"id": 1, "text": _texts()[0]}])


def _records() -> None:
    rows = [
        'a,Stroke after heart surgery,"Smith J, Wong L",1998',
        'b,Stroke after heart surgery.,"L Wong, J Smith",1998',
        "c,Teeth of early mammals,Brown K,1987",
        "d,Sleep and memory in old age,Miller A,2004",
    ]
    Path("references.csv").write_text("\n".join(["id,title,authors,year", *rows]) + "\n")


_SETTINGS: dict[str, Callable[[], None]] = {
    "README.md": _readme,
    "docs/containment.md": _containment,
    "docs/decontaminate.md": _decontaminate,
    "docs/items.md": _pictures,
    "docs/large-collections.md": _large_collections,
    "docs/news.md": _news,
    "docs/pictures.md": _pictures,
    "docs/run-an-index.md": _run_an_index,
    "docs/records.md": _records,
    "docs/runs.md": _runs,
    "docs/training-data.md": _training_data,
    "docs/tune.md": _tune,
    "docs/users-and-items.md": _users_and_items,
    "docs/vectors.md": _vectors,
}
