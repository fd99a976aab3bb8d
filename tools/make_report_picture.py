"""Write `docs/images/report.png`: the head of the report of a run on invented articles.

Needs Chromium. Run it in the repository's root after the report has changed:

    python -m tools.make_report_picture
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

import lookalike

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "report.png"
_WIDTH, _HEIGHT = 1280, 1000
_COLOURS = 128
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Run, take the picture, and make it small."""
    browser = next(path for path in map(shutil.which, _BROWSERS) if path)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        for number, month in enumerate(("january", "february", "march")):
            pq.write_table(_articles(3_000, number), at / f"{month}.parquet")
        lookalike.dedup(f"{at}/*.parquet", id="id").save(at / "run")
        shot = [f"--window-size={_WIDTH},{_HEIGHT}", f"--screenshot={at / 'shot.png'}", f"file://{at}/run/report.html"]
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *shot], check=True)
        with Image.open(at / "shot.png") as taken:
            taken.convert("RGB").quantize(_COLOURS).save(PICTURE, optimize=True)


def _articles(count: int, seed: int) -> pa.Table:
    """Articles of the tutorial, a third of them copies: as they were, edited, or with a line on top."""
    draw, names = random.Random(seed), _words()
    texts: list[str] = []
    for _ in range(count):
        text = _article(draw, names)
        if texts and draw.random() < 0.3:
            text = draw.choice(texts)
            text = draw.choice((text, text.replace("noon", "midnight"), f"ADVERTISEMENT. {text}"))
        texts.append(text)
    return pa.table({"id": [f"{seed + 1}-{number}" for number in range(count)], "text": texts})


def _article(draw: random.Random, names: dict[str, list[str]]) -> str:
    about, done = draw.sample(names["nouns"], 9), draw.sample(names["verbs"], 9)
    return " ".join(
        f"The {draw.choice(about)} {draw.choice(done)} the {draw.choice(about)} {draw.choice(names['times'])}."
        for _ in range(24)
    )


def _words() -> dict[str, list[str]]:
    """The lists of words of the tutorial."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    found = {name: words.split() for name, words in re.findall(r'(?ms)^(nouns|verbs) = """(.*?)"""', page)}
    times = re.findall(r'"([^"]+)"', re.findall(r"(?ms)^times = \[(.*?)\]", page)[0])
    return found | {"times": times}


if __name__ == "__main__":
    main()
    print(f"wrote {PICTURE}, {PICTURE.stat().st_size:,} bytes")
