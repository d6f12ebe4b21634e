# SPDX-License-Identifier: GPL-2.0-only
"""Reads C++ sources just well enough to count: files, functions with their lengths, includes.

Not a parser: comments and literals are blanked, then braces are matched and the text before each
opening brace tells a function from a namespace, a type or an initializer. Lambdas and local types
count as part of the function around them.
"""
import re
from dataclasses import dataclass
from pathlib import Path

from .paths import ROOT

# The one line of folders; an include may only point to the left. bench and
# examples stand beside plugin.
LAYERS = ("base", "io", "wal", "buffer", "space", "storage", "btree", "mvcc", "engine", "plugin")
CODE_FOLDERS = LAYERS + ("bench", "examples", "tools")
_QUALIFIERS = re.compile(
    r"(\b(const|noexcept|override|final|mutable|try|volatile)\b|&&?|->[\w:<>,\s*&\[\]]+"
    r"|noexcept\s*\([^()]*\)|requires\b.*)\s*$", re.DOTALL)
_ACCESS = re.compile(r"^\s*(public|private|protected)\s*:")
_TYPE = re.compile(r"\b(class|struct|union|enum)\b")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


@dataclass
class Function:
    name: str
    first_line: int
    lines: int


@dataclass
class Include:
    target: str
    quoted: bool
    line: int


def folder_of(path):
    """The top-level folder of a path inside the checkout."""
    return Path(path).resolve().relative_to(ROOT).parts[0]


def sources(folders=CODE_FOLDERS, suffixes=(".cc", ".h")):
    """All source files under the folders, sorted."""
    found = []
    for folder in folders:
        found += [path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    return sorted(found)


def includes_of(text):
    return [Include(match.group(2), match.group(1) == '"', text.count("\n", 0, match.start()) + 1)
            for match in _INCLUDE.finditer(text)]


def blank_out(text):
    """The text with comments, literals and preprocessor lines blanked; line breaks stay."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/'
        r'|R"([^()\\ ]{0,16})\(.*?\)\1"'
        r'|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'"
        r'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.DOTALL | re.MULTILINE)

    def blank(match):
        kept = re.sub(r"[^\n]", " ", match.group(0))
        return '""' + kept[2:] if match.group(0)[:1] in '"R' and len(kept) > 1 else kept
    return token.sub(blank, text)


def functions_of(text):
    """All function definitions outside of other functions."""
    code = blank_out(text)
    found, position, header_start, depth = [], 0, 0, 0
    while position < len(code):
        symbol = code[position]
        if symbol in "([":
            position = _matching(code, position) + 1
            continue
        if symbol in ";}":
            header_start = position + 1
        elif symbol == "{":
            header = code[header_start:position]
            end = _matching(code, position)
            if _is_function(header):
                if code[end + 1:].lstrip()[:1] in (",", "{") and ":" in header:
                    position = end + 1  # a member initializer with braces, the body comes later
                    continue
                found.append(_function(code, header, header_start, end))
                position = header_start = end + 1
                continue
            if not _opens_scope(header):
                position = end + 1  # an initializer or enum list: part of its statement
                continue
            header_start = position + 1
        position += 1
    return found


def _opens_scope(header):
    header = header.strip()
    if header.endswith("=") or re.search(r"\benum\b", header):
        return False
    return bool(re.search(r"\bnamespace\b", header) or _TYPE.search(header)
                or re.match(r'extern\s*""', header) or re.match(r"export\b", header))


def _is_function(header):
    header = _ACCESS.sub("", header).strip()
    if "(" not in header or re.search(r"\bnamespace\b", header):
        return False
    previous = None
    while previous != header:
        previous = header
        header = _QUALIFIERS.sub("", header).rstrip()
    if re.search(r"\)\s*(noexcept\s*)?:[^:]", header):
        return True  # a constructor with member initializers
    return header.endswith(")")


def _function(code, header, header_start, end):
    header = _ACCESS.sub(lambda match: " " * len(match.group(0)), header)
    first = header_start + len(header) - len(header.lstrip())
    name = re.search(r"([\w:~]+|operator\s*\S{1,3})\s*\(", header)
    first_line = code.count("\n", 0, first) + 1
    last_line = code.count("\n", 0, end) + 1
    return Function(name.group(1) if name else "?", first_line, last_line - first_line + 1)


def _matching(code, position):
    """The index of the bracket that closes the one at `position`; the end of text if none does."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    opening, closing = code[position], pairs[code[position]]
    depth = 0
    for index in range(position, len(code)):
        if code[index] == opening:
            depth += 1
        elif code[index] == closing:
            depth -= 1
            if depth == 0:
                return index
    return len(code) - 1
