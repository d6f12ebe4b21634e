# SPDX-License-Identifier: GPL-2.0-only
"""A flame graph as SVG: stacks grow upwards, a frame is as wide as what was counted in it and in
all it called; a pointer that rests on it is told its name and share."""
import html

_WIDTH, _ROW, _LETTER = 1100, 17, 6.4
_NARROWEST = 0.6   # of a frame that is drawn, and of its letters


class _Node:
    def __init__(self):
        self.count, self.children = 0, {}


def flame_graph(title, stacks, unit):
    """`stacks`: {"outer;inner": count}; `unit` is what is counted."""
    root = _Node()
    for stack, count in stacks.items():
        node = root
        node.count += count
        for name in stack.split(";"):
            node = node.children.setdefault(name, _Node())
            node.count += count
    if not root.count:
        return ""
    frames = []
    _lay_out(root, 0.0, 0, root.count, frames)
    height = _ROW * (1 + max(depth for _, _, depth, _, _ in frames))
    parts = [_drawn(frame, height, root.count, unit) for frame in frames]
    label = html.escape(f"{title}: {root.count:,} {unit}, most of them in {_hottest(root)}", True)
    return (f"<svg viewBox='0 0 {_WIDTH} {height}' width='{_WIDTH}' height='{height}' role='img' "
            f"class='flame' aria-label=\"{label}\">{''.join(parts)}</svg>")


def _lay_out(node, x, depth, total, frames):
    """Appends (x, width, depth, name, count) of all below `node`, widest first."""
    for name, child in sorted(node.children.items(), key=lambda one: -one[1].count):
        width = _WIDTH * child.count / total
        if width >= _NARROWEST:
            frames.append((x, width, depth, name, child.count))
            _lay_out(child, x, depth + 1, total, frames)
        x += width


def _hottest(root):
    """The innermost frame in which more than half of all was counted."""
    node, name = root, "no single function"
    while node.children:
        inner, child = max(node.children.items(), key=lambda one: one[1].count)
        if child.count * 2 <= root.count:
            break
        node, name = child, inner
    return name


def _drawn(frame, height, total, unit):
    x, width, depth, name, count = frame
    kind = "s1" if name.startswith("rowan::") else "s5" if name.endswith("_[k]") else "s0"
    y = height - _ROW * (depth + 1)
    shown = name.removesuffix("_[k]")
    letters = int((width - 6) / _LETTER)
    text = "" if letters < 3 else shown if len(shown) <= letters else shown[:letters - 1] + "…"
    told = html.escape(f"{shown}: {count:,} {unit}, {100 * count / total:.1f} %")
    drawn = (f"<g><title>{told}</title><rect x='{x:.1f}' y='{y}' width='{width:.1f}' "
             f"height='{_ROW - 1}' class='{kind}'/>")
    if text:
        drawn += f"<text x='{x + 3:.1f}' y='{y + 12}'>{html.escape(text)}</text>"
    return drawn + "</g>"
