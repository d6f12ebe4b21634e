# SPDX-License-Identifier: GPL-2.0-only
"""From a load's report and the sampler's figures to the metrics of a run."""
import statistics

from .sampler import Sampler

KIB, MIB = 1024, 1 << 20
_STALL_SHARE = 0.1
_KEPT_SHARE = 0.95
_SLACK = 3.0   # standard deviations of a Poisson process: starts are planned at random


def observe(target, data_folder):
    """A Sampler of the target's server; without a process to look at, one that knows nothing."""
    return Sampler(target.pid, data_folder)


def per_operation(sampler, count):
    """cpu, cs, r, rkb, wkb of one of `count` operations; each None where it is not known."""
    usage = sampler.usage
    if usage is None or not count:
        return dict.fromkeys(("cpu", "cs", "r", "rkb", "wkb"))
    return {"cpu": usage.cpu_s * 1e6 / count, "cs": sampler.switches / count,
            "r": ratio(usage.disk_reads, count),
            "rkb": ratio(usage.disk_read_bytes, count * KIB),
            "wkb": ratio(usage.disk_written_bytes, count * KIB)}


def ratio(value, count):
    return None if value is None or not count else value / count


def latency_metrics(report):
    figures = report.latencies.figures()
    if report.longest_us is not None:
        figures["max"] = report.longest_us
    figures["worst_second_ms"] = max(report.p99_ms_by_second, default=None)
    return figures


def stalls(by_second):
    """Seconds in which less than a tenth of the median rate was done."""
    if not by_second:
        return None
    middle = statistics.median(by_second)
    return sum(1 for rate in by_second if rate < _STALL_SHARE * middle)


def run_of(report, metrics, by_second=None):
    """A run as the result keeps it."""
    return {"seconds": report.seconds, "metrics": metrics,
            "latencies": report.latencies.encode(), "retries": report.retries,
            "by_second": {"rate": by_second if by_second is not None
                          else report.queries_by_second,
                          "p99_ms": report.p99_ms_by_second}}


def missed_rate(events, seconds, rate):
    """{missed: sentence} where fewer events were done than planned, beyond what chance explains;
    else nothing."""
    planned = rate * seconds
    if events >= _KEPT_SHARE * planned - _SLACK * planned ** 0.5:
        return {}
    return {"missed": f"{events / seconds:,.0f} of {rate:,} a second were done: the rate was not "
                      "kept, so nothing is ranked here"}
