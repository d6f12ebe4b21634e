# SPDX-License-Identifier: GPL-2.0-only
"""Charts as SVG inside the page: their colours are the style sheet's, so that they follow the
theme, and each says in words what it shows."""
import html
import math

from ..summary import ratio_text

_WIDTH, _LABEL, _VALUE = 900, 230, 90
_BAR, _GAP = 13, 9
_SERIES = 6  # colours of the style sheet


def series_class(kind, number):
    return f"{kind}{number % _SERIES}"


def legend(names, first=0):
    """Which colour is which."""
    marks = [f"<span><svg width='12' height='12' aria-hidden='true'><rect width='12' height='12' "
             f"rx='2' class='{series_class('s', first + number)}'/></svg>{html.escape(name)}</span>"
             for number, name in enumerate(names)]
    return f"<p class='legend'>{''.join(marks)}</p>"


def ratio_chart(title, rows):
    """`rows`: [(label, [(series, ratio or None, certain)])]. Bars from 1, to the right what is more
    than the base, on a logarithmic scale; pale where it may be chance."""
    ratios = [ratio for _, bars in rows for _, ratio, _ in bars if ratio]
    if not ratios:
        return ""
    reach = max(math.log(1.25), *[abs(math.log(ratio)) for ratio in ratios])
    half = (_WIDTH - _LABEL - _VALUE) / 2 - 20
    middle = _LABEL + half + 20

    def x(ratio):
        return middle + half * math.log(ratio) / reach
    parts, y = [], 22
    for label, bars in rows:
        parts.append(_text(0, y + (_BAR + 1) * len(bars) / 2 + 4, label))
        for series, ratio, certain in bars:
            if ratio:
                parts.append(_ratio_bar(x(ratio), middle, y, series, ratio, certain))
            y += _BAR + 1
        y += _GAP
    parts += _ratio_axis(x, reach, y, middle)
    words = "; ".join(f"{label}: " + ", ".join("n/a" if not ratio else ratio_text(ratio)
                                               for _, ratio, _ in bars) for label, bars in rows)
    return _chart(title, words, parts, y + 4)


def _ratio_bar(end, middle, y, series, ratio, certain):
    left, width = min(end, middle), max(1.0, abs(end - middle))
    chance = "" if certain else " chance"
    bar = (f"<rect x='{left:.1f}' y='{y}' width='{width:.1f}' height='{_BAR}' rx='2' "
           f"class='{series_class('s', series)}{chance}'/>")
    text = f"{'' if certain else '~'}{ratio_text(ratio)}"
    if ratio >= 1:
        return bar + _text(end + 5, y + 11, text)
    return bar + _text(end - 5, y + 11, text, "end")


def _ratio_axis(x, reach, height, middle):
    steps = [ratio for ratio in (0.1, 0.25, 0.5, 0.8, 1, 1.25, 2, 4, 10)
             if abs(math.log(ratio)) <= reach + 1e-9]
    lines = [f"<line x1='{middle}' y1='18' x2='{middle}' y2='{height}' class='one'/>"]
    return lines + [_text(x(ratio), 12, f"{ratio:g}", "middle", "faint") for ratio in steps]


def value_chart(title, rows, form):
    """`rows`: [(label, [(series, value or None, certain)])]: plain bars from zero, on one scale."""
    values = [value for _, bars in rows for _, value, _ in bars if value]
    if not values:
        return ""
    scale = (_WIDTH - _LABEL - _VALUE) / max(values)
    parts, y = [], 6
    for label, bars in rows:
        parts.append(_text(0, y + (_BAR + 1) * len(bars) / 2 + 4, label))
        for series, value, _ in bars:
            width = max(1.0, (value or 0) * scale)
            if value:
                parts.append(f"<rect x='{_LABEL}' y='{y}' width='{width:.1f}' height='{_BAR}' "
                             f"rx='2' class='{series_class('s', series)}'/>")
            parts.append(_text(_LABEL + (width if value else 0) + 5, y + 11, form(value)))
            y += _BAR + 1
        y += _GAP
    words = "; ".join(f"{label}: " + ", ".join(form(value) for _, value, _ in bars)
                      for label, bars in rows)
    return _chart(title, words, parts, y)


def clients_chart(title, counts, lines, form):
    """`lines`: [(series, [value or None for each of `counts`])] over numbers of clients, which
    stand as far apart as their logarithms."""
    top = max((value for _, values in lines for value in values if value), default=0)
    if not top:
        return ""
    top = _round_up(top)
    height, left, width = 220, 80, _WIDTH - 110
    span = math.log(counts[-1] / counts[0])
    xs = [left + width * math.log(count / counts[0]) / span for count in counts]
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = 14 + height * (1 - share)
        parts += [f"<line x1='{left}' y1='{y}' x2='{left + width}' y2='{y}' class='axis'/>",
                  _text(left - 8, y + 4, form(top * share), "end", "faint")]
    parts += [_text(x, height + 32, str(count), "middle", "faint") for x, count in zip(xs, counts)]
    parts.append(_text(left + width / 2, height + 50, "clients", "middle", "faint"))
    for series, values in lines:
        points = [(x, 14 + height * (1 - value / top)) for x, value in zip(xs, values) if value]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f"<polyline class='{series_class('l', series)}' points='{path}'/>")
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' class='{series_class('s', series)}'/>"
                  for x, y in points]
    words = "; ".join(", ".join(f"{count}: {form(value)}" for count, value in zip(counts, values))
                      for _, values in lines)
    return _chart(title, words, parts, height + 58)


def _round_up(value):
    """The next number whose quarters are round, too."""
    unit = 10 ** math.floor(math.log10(value))
    return unit * next(step for step in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
                       if step * unit >= value)


def seconds_chart(title, lines):
    """`lines`: [(series, [rate of each second])]: one line a side, over the same seconds."""
    lines = [(series, values) for series, values in lines if len(values) > 1]
    if not lines:
        return ""
    top = max(max(values) for _, values in lines) or 1
    count = max(len(values) for _, values in lines)
    height, left, width = 120, 70, _WIDTH - 90

    def points(values):
        return " ".join(f"{left + width * number / max(1, count - 1):.1f},"
                        f"{8 + height * (1 - value / top):.1f}"
                        for number, value in enumerate(values))
    parts = [f"<line x1='{left}' y1='{8 + height}' x2='{left + width}' y2='{8 + height}' "
             "class='axis'/>", _text(left - 6, 14, f"{top:,.0f}", "end", "faint"),
             _text(left - 6, 12 + height, "0", "end", "faint"),
             _text(left + width, height + 24, f"{count} s", "end", "faint")]
    parts += [f"<polyline class='{series_class('l', series)}' points='{points(values)}'/>"
              for series, values in lines]
    words = "; ".join(f"from {min(values):,.0f} to {max(values):,.0f}" for _, values in lines)
    return _chart(title, words, parts, height + 30)


def _text(x, y, text, anchor="start", kind=""):
    kind = f" class='{kind}'" if kind else ""
    return (f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'{kind}>"
            f"{html.escape(text)}</text>")


def _chart(title, words, parts, height):
    label = html.escape(f"{title}. {words}", quote=True)
    return (f"<svg viewBox='0 0 {_WIDTH} {height:.0f}' width='{_WIDTH}' height='{height:.0f}' "
            f"role='img' aria-label=\"{label}\">{''.join(parts)}</svg>")
