"""The report of a run as one page to look at: `page(report)` makes `report.html` from the data of `report.json`.

    markup     tags that escape whatever is not markup already, and texts with their differences marked
    fields     reads the data, in which anything may be absent
    numbers    figures for people
    palette    the colours, light and dark
    charts     bars, histograms, intervals and the S-curve as SVG
    headline, certificate_section, sources, spread, examples_section, run    the sections, in the order of the page
    span_section    what stands there instead where repeated spans were cut
    document   the whole: head, contents, sections
    tuning_page    another page, of the same parts: what `tune` saw

The page is one file. It loads nothing: its policy allows only the style sheet and the script that stand in it, by their
hashes, so that not even a mistake in escaping could make it run or fetch something. Without the script it is complete.
"""

from lookalike.report.page.document import page

__all__ = ["page"]
