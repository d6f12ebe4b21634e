# SPDX-License-Identifier: GPL-2.0-only
"""header_chains.py <source folder> <output folder> <header>...: the sources of rowan_header_check,
<header with _ for />.cc for each header.

A header that is read after some of what it includes anyway, and after nothing else, sees what it
sees alone. So headers of which each includes the one before, itself or by others, are one source,
that of the last of them; the sources of the others are empty."""
import re
import sys
from pathlib import Path

_INCLUDE = re.compile(r'^#include "(.*)"', re.MULTILINE)


def closures(root, headers):
    """The headers that each one includes, directly or not, itself among them."""
    direct = {header: [name for name in _INCLUDE.findall((root / header).read_text())
                       if name in headers] for header in headers}
    found = {}

    def visit(header):
        if header not in found:
            found[header] = {header}.union(*map(visit, direct[header]))
        return found[header]
    for header in headers:
        visit(header)
    return found


def chains(included):
    """Each header in one list, in which it includes all before it. The widest headers begin."""
    order = sorted(included, key=lambda header: (-len(included[header]), header))
    left = dict.fromkeys(order)
    while left:
        chain = []
        for header in order:
            if header in left and all(header in included[wider] for wider in chain[-1:]):
                chain.append(header)
                del left[header]
        yield chain[::-1]


def main(root, target, *headers):
    texts = dict.fromkeys(headers, "")
    for chain in chains(closures(Path(root), dict.fromkeys(headers))):
        texts[chain[-1]] = "".join(f'#include "{header}"\n' for header in chain)
    Path(target).mkdir(exist_ok=True)
    for header, text in texts.items():
        path = Path(target) / (header.replace("/", "_") + ".cc")
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
