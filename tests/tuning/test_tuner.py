"""Tuning as people ask for it: what is proposed, why, and the pairs that are shown."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lookalike
from lookalike.errors import InputError, OptionError, OutputError
from tests.cli.conftest import Run, run  # noqa: F401 (a fixture)

WORDS = [f"{a}{b}{c}{d}" for a in "bdfgk" for b in "aeiou" for c in "lmnprst" for d in "aeo"]


def records(families: int = 60, copies: int = 3, seed: int = 0) -> tuple[pa.Table, list[tuple[str, str]]]:
    """Records of a dozen words with slips of the pen, and which are the same."""
    rng = random.Random(seed)
    rows, truth = [], []
    for family in range(families):
        first = " ".join(rng.choices(WORDS, k=12))
        mine = [f"r{family}.{copy}" for copy in range(rng.randint(1, copies))]
        truth += [(a, b) for at, a in enumerate(mine) for b in mine[at + 1 :]]
        for name in mine:
            letters = list(first)
            for _ in range(2):
                letters[rng.randrange(len(letters))] = rng.choice("xyz")
            rows.append({"id": name, "text": "".join(letters)})
    rng.shuffle(rows)
    return pa.Table.from_pylist(rows), truth


def test_what_is_proposed_without_a_truth_finds_what_is_the_same() -> None:
    table, truth = records()
    found = lookalike.tune(table, id="id")
    assert found.shingle == "char:4"
    assert found.trial.proposal.why == "gap" and "clear gap" in found.reason
    pairs = lookalike.pairs(table, id="id", **found.options).table
    assert {frozenset(pair) for pair in zip(pairs["a"].to_pylist(), pairs["b"].to_pylist(), strict=True)} == {
        frozenset(pair) for pair in truth
    }
    assert repr(found).startswith(f"proposal: --shingle char:4 -t {found.threshold:.2f}\n  there is a clear gap")


def test_with_a_truth_the_best_is_proposed_and_told_with_intervals() -> None:
    table, truth = records()
    found = lookalike.tune(table, id="id", truth=[*truth, ("r0.0", "nobody")])
    best = found.trial.best
    assert best is not None and best.f1 == 1.0 and best.f1_interval == (1.0, 1.0)
    assert found.threshold == best.threshold
    assert found.reason.startswith("best agreement with the known matches: F1 1.000 (95% interval 1.000 to 1.000)")
    assert found.notes == ["1 pair of the known matches ignored: an id is not in the input"]
    for trial in found.trials:
        at = max(trial.agreements, key=lambda each: each.f1)
        shingle = {"shingle": trial.shingle, "threshold": at.threshold}
        pairs = lookalike.pairs(table, id="id", **shingle).table  # type: ignore[arg-type]
        both = {frozenset(pair) for pair in zip(pairs["a"].to_pylist(), pairs["b"].to_pylist(), strict=True)}
        hit = len(both & {frozenset(pair) for pair in truth})
        assert at.f1 == pytest.approx(2 * hit / (len(both) + len(truth)))


def test_against_another_collection_only_pairs_across_count() -> None:
    table, truth = records()
    first = pa.compute.ends_with(table["id"], ".0")
    own, other = table.filter(first), table.filter(pa.compute.invert(first))
    across = [pair for pair in truth if pair[0].endswith(".0")]
    found = lookalike.tune(own, against=other, id="id", truth=across)
    assert found.trial.best is not None and found.trial.best.f1 == 1.0
    assert found.trial.proposed is not None and found.trial.proposed.f1 == 1.0
    rows = found.table.to_pylist()
    assert all(row["a"].endswith(".0") and not row["b"].endswith(".0") for row in rows)
    texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
    assert all(row["item_a"] == texts[row["a"]] and row["item_b"] == texts[row["b"]] for row in rows)


def test_pairs_are_shown_from_high_to_low_on_both_sides_of_the_threshold() -> None:
    rng = random.Random(0)
    base = rng.choices(WORDS, k=30)
    texts = [" ".join([*base[: 30 - n], *rng.choices(WORDS, k=n)]) for n in range(30)]
    found = lookalike.tune(texts, shingle="word:1")
    scores = found.table["similarity"].to_pylist()
    assert scores == sorted(scores, reverse=True) and len(scores) > 10
    assert min(scores) < found.threshold < max(scores)
    pairs = {(a, b): s for a, b, s in lookalike.pairs(texts, shingle="word:1", threshold=0.01)}
    assert all(pairs[row["a"], row["b"]] == row["similarity"] for row in found.table.to_pylist())


def test_a_shingle_that_makes_everything_alike_is_said() -> None:
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=300)) for _ in range(30)]
    notes = lookalike.tune(texts, shingle=["char:2", "word:3"]).notes
    assert len(notes) == 1 and notes[0].startswith(
        "char:2 makes unrelated items similar: two random items have similarity "
    )


@pytest.mark.parametrize(
    ("words", "shingle"), [(12, "char:4"), (100, "word:3"), (600, "word:5")], ids=["records", "abstracts", "pages"]
)
def test_shingles_go_by_the_length_of_the_texts(words: int, shingle: str) -> None:
    rng = random.Random(words)
    names = [f"{a}{b}" for a in WORDS for b in "bcdfgh"]
    found = lookalike.tune([" ".join(rng.choices(names, k=words)) for _ in range(20)])
    assert found.shingle == shingle


def test_sets_vectors_and_bits_have_a_threshold_and_no_shingle() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(30, 16))
    vectors = np.repeat(centres, 3, axis=0) + 0.1 * rng.normal(size=(90, 16))
    found = lookalike.tune(vectors)
    assert list(found.options) == ["measure", "threshold"] and found.options["measure"] == "cosine"
    assert len(lookalike.clusters(vectors, **found.options)) == 30
    sets = [set(rng.choice(10_000, 20).tolist()) for _ in range(30)]
    assert lookalike.tune([*sets, *({*each, -1} for each in sets)]).options["measure"] == "jaccard"
    assert lookalike.tune(vectors > 0, measure="hamming").options["measure"] == "hamming"


def test_a_sample_is_held_against_all_and_is_the_same_each_time() -> None:
    table, _ = records(families=200)
    one, other = (lookalike.tune(table, id="id", sample=50, seed=3) for _ in range(2))
    assert one.sampled == 50 and one.items == len(table)
    assert one.report == other.report and one.table == other.table


def test_what_cannot_be_tuned_is_said() -> None:
    with pytest.raises(OptionError, match="tune works with similarities, not with distances"):
        lookalike.tune(np.eye(3), measure="euclidean")
    with pytest.raises(InputError, match="none of the 1 known matches"):
        lookalike.tune(["a b", "a c"], truth=[("x", "y")])
    with pytest.raises(OptionError, match="tune has no option 'threshold'"):
        lookalike.tune(["a b"], threshold=0.8)  # type: ignore[call-arg]


def test_on_the_command_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    table, truth = records()
    Path("records.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    Path("gold.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in truth))
    plain = run("tune", "records.jsonl", "--id", "id")
    assert plain.code == 0
    assert "pairs, most similar first" in plain.out and "──────── below 0." in plain.out
    assert plain.err.startswith("proposal: --shingle char:4 -t 0.")
    assert all(len(line) <= 120 for line in plain.out.splitlines())
    told: Any = run("tune", "records.jsonl", "--id", "id", "--truth", "gold.tsv", "--json").json
    assert told["options"]["shingle"] == "char:4" and told["truth"] == len(truth)
    done = run("tune", "records.jsonl", "--id", "id", "--truth", "gold.tsv", "-o", "p.csv", "--plot", "p.svg")
    assert done.code == 0
    assert Path("p.csv").read_text().startswith("similarity,a,b,item_a,item_b\n")
    picture = Path("p.svg").read_text()
    assert picture.startswith("<svg ") and picture.count("<polyline") == 3 and "proposal: --shingle" in picture
    assert "the picture must end in .svg" in run("tune", "records.jsonl", "--plot", "p.png").error


def test_every_measure_of_text_has_a_length_and_few_items_an_answer() -> None:
    table, _ = records(families=30)
    for measure in ("cosine", "weighted-jaccard", "containment"):
        assert lookalike.tune(table, id="id", measure=measure).options["measure"] == measure
    for texts in (["a b c"], ["a b c", "a b c"], ["a b c", "x y z"]):
        assert 0.0 < lookalike.tune(texts, shingle="word:1").threshold < 1.0


def test_columns_of_two_collections_may_have_other_names_and_rows_that_are_left_out_are_told() -> None:
    table, _ = records(families=30)
    other = table.rename_columns(["id", "body"])
    found = lookalike.tune(table, against=other, id="id")
    texts = dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True))
    assert all(row["item_b"] == texts[row["b"]] for row in found.table.to_pylist())
    assert lookalike.tune(table, id="id", limit=20).notes == [
        "only the first 20 rows were read; --limit (limit) reads more"
    ]
    assert lookalike.tune(table, id="id").notes == []


def test_thresholds_that_lists_do_not_reach_are_not_held_against_a_truth() -> None:
    """Of a hundred copies of one text no list of forty tells how many there are, but with the truth it is longer."""
    texts = {f"t{number}": "the same text again and again" for number in range(100)} | {"u": "another one"}
    truth = [("t0", "t1")]
    found = lookalike.tune(texts, truth=truth, shingle="word:1")
    assert all(each.pairs == 100 * 99 / 2 for each in found.trial.agreements)


def test_a_column_of_labels_is_a_truth() -> None:
    table, truth = records()
    families = pa.array([int(name[1:].split(".")[0]) for name in table["id"].to_pylist()])
    labelled = table.append_column("family", families)
    by_label, by_pairs = lookalike.tune(labelled, id="id", labels="family"), lookalike.tune(table, id="id", truth=truth)
    assert by_label.truth == len(truth)
    assert [each.agreements for each in by_label.trials] == [each.agreements for each in by_pairs.trials]
    with pytest.raises(InputError, match="there is no column 'work' with labels"):
        lookalike.tune(labelled, id="id", labels="work")
    with pytest.raises(OptionError, match="truth and labels both name the known matches"):
        lookalike.tune(labelled, id="id", labels="family", truth=truth)


def test_nothing_that_is_read_is_written_over(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.chdir(tmp_path)
    Path("docs.csv").write_text("text\none two\none two\n")
    Path("gold.csv").write_text("0,1\n")
    Path("mine.svg").write_text("mine")
    for extra in (["-o", "docs.csv"], ["-o", "gold.csv"]):
        assert run("tune", "docs.csv", "--truth", "gold.csv", *extra, "--overwrite").code != 0
    # Told before anything is written.
    assert "mine.svg exists" in run("tune", "docs.csv", "-o", "new.csv", "--plot", "mine.svg").error
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["docs.csv", "gold.csv", "mine.svg"]
    assert Path("docs.csv").read_text().startswith("text") and Path("gold.csv").read_text() == "0,1\n"
    assert run("tune", "docs.csv", "--truth", "none.tsv").error == "none.tsv cannot be read: no such file or directory"


def test_the_page_has_the_proposal_and_pairs_with_marks(tmp_path: Path) -> None:
    table, truth = records()
    found = lookalike.tune(table, id="id", truth=truth)
    page = found.write_report(tmp_path / "tune.html").read_text(encoding="utf-8")
    assert f"Threshold {found.threshold:.2f} with {found.shingle}" in page
    assert page.count("<mark>") > 20 and "interval-of recall" in page
    with pytest.raises(OutputError):
        found.write_report(tmp_path / "tune.html")
    assert found.write_report(tmp_path / "tune.html", overwrite=True) == tmp_path / "tune.html"


def test_of_pictures_the_page_shows_pictures(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(2)
    for number in range(6):
        coarse = image.fromarray(rng.integers(0, 256, (6, 8, 3), np.uint8))
        for copy, size in (("a", (64, 48)), ("b", (320, 240))):
            coarse.resize(size).save(tmp_path / f"{number}{copy}.png")
    found = lookalike.tune(lookalike.images(tmp_path))
    assert found.noun == "picture"
    assert set(found.pairs["item_a"].to_pylist()) == {"64 x 48", "320 x 240"}
    (tmp_path / "0a.png").unlink()
    page = found.page()
    assert page.count('src="data:image/jpeg;base64,') > 6
    assert "0a.png cannot be shown" in page.replace("<wbr>", "")


def test_the_command_writes_the_page_and_never_over_a_file_it_was_not_told_to(run: Run, tmp_path: Path) -> None:  # noqa: F811
    table, _ = records(20)
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    source, page = tmp_path / "records.jsonl", tmp_path / "tune.html"
    source.write_text(lines)
    assert run("tune", source, "--id", "id", "--report", page).code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    for arguments, said in ((["--report", page], "exists"), (["--report", tmp_path / "x.htm"], "must end in .html")):
        done = run("tune", source, "--id", "id", *arguments)
        assert done.code != 0 and said in done.err
    assert run("tune", source, "--id", "id", "--report", page, "--overwrite").code == 0
    assert source.read_text() == lines
