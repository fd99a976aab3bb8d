"""The picture of a tuning."""

from __future__ import annotations

from xml.etree import ElementTree

import lookalike
from lookalike.tuning.picture import svg

SVG = "{http://www.w3.org/2000/svg}"


def test_a_long_proposal_is_shown_whole_in_lines_that_fit() -> None:
    """Letters of the widest font that browsers fall back to have 9.3 pixels at this size."""
    rows = [{"title": f"{word} tale", "authors": word, "year": 1998} for word in ("river", "river", "stone", "apple")]
    compare = ["title:char:4:2", "authors:word:1", "year:equal"]
    for found in (lookalike.tune(rows, compare=compare), lookalike.tune(["one two", "one two", "three"])):
        root = ElementTree.fromstring(svg(found))
        lines = [each for each in root.iter(f"{SVG}text") if each.attrib["font-size"] == "17"]
        assert " ".join(each.text or "" for each in lines) == found.headline
        assert len(lines) == (2 if found.compare else 1)
        assert all(56 + 9.3 * len(each.text or "") <= 760 for each in lines)
        assert not any((each.text or "").endswith("--compare") for each in lines)
        # What is below is pushed down by as much as the picture is higher.
        higher = float(root.attrib["viewBox"].split()[3]) - 400
        moved = root.find(f"{SVG}g")
        assert moved is not None and moved.attrib["transform"] == f"translate(0 {higher:g})"
        assert higher == 22 * (len(lines) - 1)
