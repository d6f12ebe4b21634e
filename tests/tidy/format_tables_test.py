# SPDX-License-Identifier: GPL-2.0-only
"""Structures on disk are written down twice: beside the code and in docs/formats/. They must agree.

In a source, a byte table is a comment block headed "offset size", or a struct whose name ends in
Layout. In a document it is a table headed "offset | size". A table of a document has its twin in
one of the sources that the page names, row by row; a table of a source has its twin in a document
that names the source; and a constant k...Offset of a source with tables is the offset of a row.
"""
import re

from rowantools.cpp_source import sources
from rowantools.line_tests import Failure, require_equal, require_none
from rowantools.paths import ROOT

FORMATS = ROOT / "docs" / "formats"
_COMMENT_HEAD = re.compile(r"^\s*//+\s+offset\s+size\s*$")
_COMMENT_ROW = re.compile(r"^\s*//+\s+(\d+)\s+(\S+)\s+\S")
_DOCUMENT_HEAD = re.compile(r"^\|\s*offset\s*\|\s*size\s*\|")
_DOCUMENT_ROW = re.compile(r"^\|\s*(\d+|…)\s*\|([^|]*)\|")
_SOURCE_NAME = re.compile(r"`([a-z_]+(?:/[a-z_]+)+)(?:\.(?:h|cc|\{h,cc\}))?`")
_OFFSET_CONSTANT = re.compile(r"constexpr size_t (k\w*Offset) = (\d+);")
_LAYOUT = re.compile(r"struct (\w+Layout) \{\n((?:  [a-z].*;.*\n)+)\};")
_FIELD = re.compile(r"^  (\w+) (\w+)(?:\[(\w+)\])?;", re.MULTILINE)
_TYPE_BYTES = {"char": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8}
_NAMED_BYTES = {"kFormatFeaturesBytes": 24, "kCarriedNameBytesMax": 512}


def _size(text):
    """A size as both sides can write it: None for whatever is not one number."""
    text = text.strip()
    return int(text) if text.isdigit() else None


def comment_tables(text):
    """The byte tables in comments: lists of (offset, size)."""
    tables, rows = [], None
    for line in text.splitlines():
        if _COMMENT_HEAD.match(line):
            rows = []
            tables.append(rows)
        elif rows is not None:
            match = _COMMENT_ROW.match(line)
            if match:
                rows.append((int(match.group(1)), _size(match.group(2))))
            elif not re.match(r"^\s*//+\s{3,}\S", line):  # not the rest of a row either
                rows = None
    return tables


def layout_tables(text):
    """The structs that are laid over bytes, as byte tables."""
    tables = []
    for _, body in _LAYOUT.findall(text):
        rows, offset = [], 0
        for kind, _, count in _FIELD.findall(body):
            size = _TYPE_BYTES[kind] * (_NAMED_BYTES.get(count) or int(count or 1))
            rows.append((offset, size))
            offset += size
        tables.append(rows)
    return tables


def document_tables(text):
    tables, rows = [], None
    for line in text.splitlines():
        if _DOCUMENT_HEAD.match(line):
            rows = []
            tables.append(rows)
        elif rows is not None:
            match = _DOCUMENT_ROW.match(line)
            if match and match.group(1) != "…":
                rows.append((int(match.group(1)), _size(match.group(2))))
            elif not line.startswith("|"):
                rows = None
    return tables


def _named_sources(text):
    """A header stands for its source and the other way round."""
    candidates = [ROOT / (name + ending) for name in _SOURCE_NAME.findall(text)
                  for ending in (".h", ".cc")]
    return [path for path in candidates if path.is_file()]


def _tables_of(path):
    text = path.read_text()
    return comment_tables(text) + layout_tables(text)


def _agree(document, source):
    """Whether they are one table. The last row may be there once only: what fills up the block."""
    shorter, longer = sorted((document, source), key=len)
    return bool(shorter) and len(longer) - len(shorter) <= 1 and all(
        one[0] == other[0] and (one[1] == other[1] or None in (one[1], other[1]))
        for one, other in zip(shorter, longer))


def _pages():
    return [(path, path.read_text()) for path in sorted(FORMATS.glob("*.md"))]


def test_documents_agree_with_the_code():
    findings = []
    for path, text in _pages():
        twins = [rows for source in _named_sources(text) for rows in _tables_of(source)]
        findings += [f"{path.name}: the table {rows[:3]}… is in none of the sources it names"
                     for rows in document_tables(text)
                     if not any(_agree(rows, twin) for twin in twins)]
    require_none(findings, "byte tables of documents without a twin in the code")


def test_the_code_agrees_with_documents():
    findings = []
    pages = [(set(_named_sources(text)), document_tables(text)) for _, text in _pages()]
    for path in sources():
        for rows in _tables_of(path):
            if not any(path in named and any(_agree(rows, other) for other in tables)
                       for named, tables in pages):
                findings.append(f"{path.relative_to(ROOT)}: the table {rows[:3]}… is in no "
                                "document that names this file")
    require_none(findings, "byte tables of sources without a twin in docs/formats/")


def test_constants_are_offsets_of_the_tables():
    findings = []
    for path in sources():
        text = path.read_text()
        offsets = {offset for rows in comment_tables(text) for offset, _ in rows}
        findings += [f"{path.relative_to(ROOT)}: {name} = {value} begins no row of its tables"
                     for name, value in _OFFSET_CONSTANT.findall(text)
                     if offsets and int(value) not in offsets]
    require_none(findings, "constants that no table explains")


def test_the_readers_themselves():
    sample = ("//   offset size\n//   0      4    a\n//               more of a\n"
              "//   4      8*n  b\n//\n// 9 9 x\n")
    require_equal(comment_tables(sample), [[(0, 4), (4, None)]], "tables of a comment")
    sample = "struct XLayout {\n  char a[8];\n  uint32_t b;  ///< c\n  uint8_t d[4];\n};\n"
    require_equal(layout_tables(sample), [[(0, 8), (8, 4), (12, 4)]], "tables of structs")
    sample = ("| offset | size | field |\n|---|---|---|\n| 0 | 4 | a |\n| 4 | 8 × n | b |\n"
              "\n| 7 | 7 |\n")
    require_equal(document_tables(sample), [[(0, 4), (4, None)]], "tables of a document")
    if _agree([(0, 4), (4, 4)], [(0, 4), (4, 8)]) or not _agree([(0, 4)], [(0, 4), (4, None)]):
        raise Failure("tables are not compared as they should be")
