# SPDX-License-Identifier: GPL-2.0-only
"""The reports of a result beside it: the same name with .md and .html."""
from .. import result
from ..summary import Summary
from .markdown import markdown
from .page import page
from .text import terminal_text


def publish(path):
    """Prints the tables and writes the other forms."""
    summary = Summary(result.read(path))
    written = write(summary, path)
    print("\n" + terminal_text(summary) + "\n\n" + "\n".join(str(one) for one in
                                                            [path, *written]), flush=True)


def write(summary, path):
    """The Markdown and the page beside `path`; their paths."""
    texts = {".md": markdown(summary), ".html": page(summary)}
    for suffix, text in texts.items():
        path.with_suffix(suffix).write_text(text)
    return [path.with_suffix(suffix) for suffix in texts]
