#!/usr/bin/env python3
"""Two builds of the tool measured in turn, and the ratios of their times as a Markdown table.

    benches/before_after.py BEFORE AFTER --runs 6 -o benches/results/NAME.md

Each process has its own place in memory and on the machine, so the builds take turns, and a ratio is the median over
pairs of neighbouring runs. Where the CPUs of a virtual machine move, cache lines are near in one run and far in the
next: pairs whose runs differ by more than a factor of two in the time of a line are left out.
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

UNITS = (1 << 20, "MiB"), (1 << 10, "KiB")


def bytes_of(count):
    for unit, name in UNITS:
        if count >= unit:
            return f"{count // unit} {name}"
    return f"{count} B" if count else "-"


def measure(tool, arguments):
    """One run of `bench`: the time of a cache line in ns, and the median in us of each point."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "run.json")
        command = [tool, "bench", *arguments, "--format", "json", "-o", result]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run = json.loads(result.read_text())
    points = {
        (point["collective"], point["bytes"], point["ranks"]): median(point["passes_us"])
        for point in run["results"]
    }
    return median(run["noise"]["line_ns"]), points, run["build"]["git"]


def comparable(pair):
    (line, *_), (other, *_) = pair
    return max(line, other) < 2 * min(line, other)


def ratios(pairs):
    """The ratios after / before of each point, one for each pair."""
    points = pairs[0][0][1].keys()
    return {
        point: sorted(after[1][point] / before[1][point] for before, after in pairs)
        for point in points
    }


def cell(of_point):
    if not of_point:
        return ""
    return f"{median(of_point):.2f} ({of_point[0]:.2f}-{of_point[-1]:.2f})"


def table(all_ratios):
    ranks = sorted({ranks for _, _, ranks in all_ratios})
    yield "| collective | bytes | " + " | ".join(f"P = {p}" for p in ranks) + " |"
    yield "|---|---|" + "---|" * len(ranks)
    order = list(dict.fromkeys(collective for collective, *_ in all_ratios))
    rows = {(collective, bytes) for collective, bytes, _ in all_ratios}
    for collective, bytes in sorted(rows, key=lambda row: (order.index(row[0]), row[1])):
        cells = (cell(all_ratios.get((collective, bytes, p), ())) for p in ranks)
        yield f"| {collective} | {bytes_of(bytes)} | " + " | ".join(cells) + " |"


def summary(all_ratios):
    medians = {point: median(of_point) for point, of_point in all_ratios.items()}
    for ranks in sorted({point[2] for point in medians}):
        here = [m for point, m in medians.items() if point[2] == ranks]
        slower = sum(m > 1.03 for m in here)
        yield f"- P = {ranks}: median ratio {median(here):.3f}; {slower} of {len(here)} points above 1.03."


def report(pairs, left_out, arguments):
    before, after = pairs[0]
    lines = sorted(line for pair in pairs for line, *_ in pair)
    yield "# Times after over times before, build by build"
    yield ""
    yield f"Measured on {datetime.date.today()}: `{' '.join(['bench', *arguments])}`, {len(pairs)} pairs of runs in turn"
    yield f"({left_out} pairs left out, whose cache lines were near in one run and far in the other), of commit {before[2]}"
    yield f"and commit {after[2]}. A cache line took {lines[0]:.0f}-{lines[-1]:.0f} ns. Given is the median of the pairs'"
    yield "ratios, with their range."
    yield ""
    yield from summary(ratios(pairs))
    yield ""
    yield from table(ratios(pairs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--runs", type=int, default=6, help="pairs of runs")
    parser.add_argument("--bench", default="all --ranks 2 --sizes 8,1Ki,64Ki,1Mi --passes 4 --time 0.1")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default="-")
    options = parser.parse_args()
    arguments = options.bench.split()
    pairs = []
    for number in range(options.runs):
        pairs.append([measure(tool, arguments) for tool in (options.before, options.after)])
        print(f"pair {number + 1}: lines {pairs[-1][0][0]:.0f}, {pairs[-1][1][0]:.0f} ns", file=sys.stderr)
    kept = [pair for pair in pairs if comparable(pair)]
    if not kept:
        sys.exit("before_after: no pair of runs in which cache lines were equally far; try again")
    for line in report(kept, len(pairs) - len(kept), arguments):
        print(line, file=options.output)


main()
