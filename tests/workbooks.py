"""XLSX workbooks as small as they can be, made by hand: what a test needs, and what no program would write."""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_FIRST_DAY = datetime.datetime(1899, 12, 30)
# Cell formats: 0 is any number, 1 a date, 2 a date with the time.
_STYLES = f"""<styleSheet {_MAIN}><cellXfs count="3"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs>
</styleSheet>"""


def sheet(rows: Sequence[Sequence[Any]]) -> str:
    """The XML of a sheet; a text that begins with `<` is a cell as it is, `{0}` in it its place."""
    lines = []
    for number, row in enumerate(rows, 1):
        cells = (_cell(f"{chr(65 + column)}{number}", value) for column, value in enumerate(row) if value is not None)
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    return f"<worksheet {_MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"


def _cell(place: str, value: Any) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    if isinstance(value, datetime.date):
        style = 2 if isinstance(value, datetime.datetime) else 1
        moment = value if isinstance(value, datetime.datetime) else datetime.datetime(*value.timetuple()[:3])
        return f'<c r="{place}" s="{style}"><v>{(moment - _FIRST_DAY) / datetime.timedelta(days=1)}</v></c>'
    if value.startswith("<"):
        return str(value).replace("{0}", place)
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def workbook(
    sheets: Mapping[str, str] | Sequence[Sequence[Any]], *, texts: Sequence[str] = (), hidden: Sequence[str] = ()
) -> bytes:
    """An XLSX file with these sheets, or one with these rows; `texts` are those that cells share."""
    named = sheets if isinstance(sheets, Mapping) else {"Sheet1": sheet(sheets)}
    states = {name: 'state="hidden"' if name in hidden else "" for name in named}
    listed = "".join(
        f'<sheet name="{name}" sheetId="{number}" {states[name]} r:id="rId{number}"/>'
        for number, name in enumerate(named, 1)
    )
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_LINKS}/worksheet" Target="worksheets/sheet{number}.xml"/>'
        for number in range(1, len(named) + 1)
    )
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    members = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships {_PACKAGE}><Relationship Id="rId1" Type="{_LINKS}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_LINKS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships {_PACKAGE}>{links}<Relationship Id="rId90" '
        f'Type="{_LINKS}/styles" Target="styles.xml"/><Relationship Id="rId91" Type="{_LINKS}/sharedStrings" '
        'Target="sharedStrings.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
        "xl/sharedStrings.xml": f"<sst {_MAIN}>{shared}</sst>",
        **{f"xl/worksheets/sheet{number}.xml": text for number, text in enumerate(named.values(), 1)},
    }
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()
