# SPDX-License-Identifier: GPL-2.0-only
"""Latencies in logarithmic buckets (HdrHistogram): recorded a run, merged over runs, kept in
results in HdrHistogram's own compressed form."""
import re

from hdrh.histogram import HdrHistogram

_LONGEST_US = 3600 * 1000 * 1000
_DIGITS = 3
PERCENTILES = (("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p999", 99.9))


class Latencies:
    """Microseconds. An object belongs to one thread."""

    def __init__(self, encoded=None):
        self._histogram = HdrHistogram.decode(encoded) if encoded else \
            HdrHistogram(1, _LONGEST_US, _DIGITS)

    def record(self, microseconds, count=1):
        value = min(max(1, round(microseconds)), _LONGEST_US)
        self._histogram.record_value(value, count)

    def merge(self, other):
        self._histogram.add(other._histogram)

    def count(self):
        return self._histogram.get_total_count()

    def percentile(self, percent):
        """The latency that `percent` of all do not exceed; None without any."""
        return self._histogram.get_value_at_percentile(percent) if self.count() else None

    def highest(self):
        return self._histogram.get_max_value() if self.count() else None

    def figures(self):
        """{p50, p95, p99, p999, max}, each in microseconds or None."""
        figures = {name: self.percentile(percent) for name, percent in PERCENTILES}
        return dict(figures, max=self.highest())

    def encode(self):
        text = self._histogram.encode()
        return text.decode() if isinstance(text, bytes) else text


def merged(encoded_histograms):
    """All runs' latencies together."""
    total = Latencies()
    for encoded in encoded_histograms:
        if encoded:
            total.merge(Latencies(encoded))
    return total


_BUCKET = re.compile(r"^\s*([\d.]+) \|\**\s+(\d+)\s*$", re.MULTILINE)


def of_sysbench(text):
    """What `sysbench --histogram` prints: milliseconds and counts, 1024 buckets, 1.8 % apart."""
    latencies = Latencies()
    for milliseconds, count in _BUCKET.findall(text):
        latencies.record(float(milliseconds) * 1000, int(count))
    return latencies
