"""Small pictures in the report, in place of what pictures were compared by."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import lookalike

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    for number in range(4):
        coarse = Image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8)).resize((640, 480))
        coarse.save(tmp_path / f"{number}.png")
        coarse.resize((320, 240)).save(tmp_path / f"{number}-small.png")
    return tmp_path


def items(report: dict[str, Any]) -> list[dict[str, Any]]:
    pairs = [pair[side] for pair in report["sample_pairs"] for side in "ab"]
    return pairs + [each for cluster in report["largest_clusters"] for each in (cluster["kept"], *cluster["members"])]


def decoded(item: dict[str, Any]) -> Any:
    head, _, data = item["picture"].partition(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.mark.parametrize("features", ["pixels", "dhash"])
def test_pairs_and_clusters_of_pictures_show_pictures(folder: Path, features: Literal["pixels", "dhash"]) -> None:
    report = lookalike.dedup(lookalike.images(folder, features=features), threshold=0.9).full_report()
    assert len(report["largest_clusters"]) == 4
    for item in items(report):
        assert "text" not in item
        picture = decoded(item)
        assert picture.size == (240, 180)
        original = Image.open(item["id"]).convert("RGB").resize((8, 6), Image.Resampling.BOX)
        shown = picture.resize((8, 6), Image.Resampling.BOX)
        assert np.abs(np.asarray(original, float) - np.asarray(shown, float)).mean() < 8
    assert len(json.dumps(report)) < 24 * 30_000


def test_of_a_picture_that_is_gone_its_path_is_told(folder: Path) -> None:
    result = lookalike.dedup(lookalike.images(folder), threshold=0.9)
    (folder / "0.png").unlink()
    (folder / "1.png").write_bytes(b"no picture")
    texts = {item["id"]: item["text"] for item in items(result.full_report()) if "text" in item}
    assert set(texts) == {str(folder / "0.png"), str(folder / "1.png")}
    assert all(text.startswith(f"{name} cannot be shown") for name, text in texts.items())


def test_pictures_of_another_collection_are_shown_as_well(folder: Path, tmp_path: Path) -> None:
    ours = tmp_path / "ours"
    ours.mkdir()
    (folder / "2-small.png").rename(ours / "new.png")
    others = lookalike.pairs(lookalike.images(ours), against=lookalike.images(folder), threshold=0.9)
    shown = items(others.full_report() | {"largest_clusters": []})
    assert shown
    assert all("picture" in item for item in shown)
