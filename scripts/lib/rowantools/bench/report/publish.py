# SPDX-License-Identifier: GPL-2.0-only
"""The reports of a result beside it: the same name with .md and .html."""
from ..summary import Summary
from .markdown import markdown
from .page import page
from .text import terminal_text


def publish(document, path):
    """Prints the tables and writes the other forms."""
    summary = Summary(document)
    written = write(summary, path)
    print("\n".join(["", terminal_text(summary), "", str(path), *written]), flush=True)


def write(summary, path):
    """The Markdown and the page beside `path`; their names, or why one is not there."""
    texts, written = {".md": markdown(summary), ".html": page(summary)}, []
    for name, text in ((path.with_suffix(suffix), text) for suffix, text in texts.items()):
        try:
            name.write_text(text)
            written.append(str(name))
        except OSError as error:
            written.append(f"{name} cannot be written: {error.strerror}")
    return written
