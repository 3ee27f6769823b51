#!/usr/bin/env python3
"""Two builds of the tool measured in turn, and the ratios of their times as a Markdown table.

    benches/before_after.py BEFORE AFTER --runs 11 -o benches/results/NAME.md

Each process has its own place in memory and on the machine, so the builds take turns, for each collective and number
of ranks by itself: the two runs of a pair are then seconds apart at most. Which build is first alternates. Where the
CPUs of a virtual machine move, cache lines are near in one run and far in the next: pairs whose runs differ by more
than a factor of two in the time of a line are left out.
"""

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from statistics import median, quantiles

COLLECTIVES = (
    "barrier,broadcast,reduce,all_reduce,reduce_scatter,all_gather,gather,scatter,all_to_all,scan,exclusive_scan,send"
)
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


def measure_pairs(tools, part, runs):
    """Pairs of runs (before, after) of one collective and number of ranks."""
    for number in range(runs):
        turns = tools if number % 2 == 0 else tools[::-1]
        pair = [measure(tool, part) for tool in turns]
        yield pair if number % 2 == 0 else pair[::-1]


def ratios(pairs):
    """The ratios after / before of each point, one for each pair."""
    points = pairs[0][0][1].keys()
    return {
        point: sorted(after[1][point] / before[1][point] for before, after in pairs)
        for point in points
    }


def quartiles(of_point):
    low, _, high = quantiles(of_point, n=4, method="inclusive") if len(of_point) > 1 else of_point * 3
    return low, high


def cell(of_point):
    if not of_point:
        return ""
    low, high = quartiles(of_point)
    return f"{median(of_point):.2f} ({low:.2f}-{high:.2f})"


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
    for ranks in sorted({point[2] for point in all_ratios}):
        here = [of_point for point, of_point in all_ratios.items() if point[2] == ranks]
        medians = [median(of_point) for of_point in here]
        slower = sum(m > 1.03 for m in medians)
        surely = sum(quartiles(of_point)[0] > 1.03 for of_point in here)
        yield f"- P = {ranks}: median ratio {median(medians):.3f}; {slower} of {len(here)} points above 1.03,"
        yield f"  {surely} of them with three quarters of their pairs."


def report(kept, made, arguments):
    """`kept`: the comparable pairs of each part, of the `made` ones."""
    pairs = [pair for part in kept for pair in part]
    before, after = pairs[0]
    lines = sorted(line for pair in pairs for line, *_ in pair)
    all_ratios = {point: of_point for part in kept for point, of_point in ratios(part).items()}
    yield "# Times after over times before, build by build"
    yield ""
    yield f"Measured on {datetime.date.today()}, each collective and number of ranks by itself, in pairs of runs in turn:"
    yield ""
    yield f"    {arguments}"
    yield ""
    yield f"Commit {after[2]} over commit {before[2]}. {made - len(pairs)} of {made} pairs are left out, because cache"
    yield "lines were near in one run and far in the other. A cache line took"
    yield f"{lines[0]:.0f}-{lines[-1]:.0f} ns. Given is the median of the pairs' ratios, with their quartiles."
    yield ""
    yield from summary(all_ratios)
    yield ""
    yield from table(all_ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--runs", type=int, default=11, help="pairs of runs of each part")
    parser.add_argument("--collectives", default=COLLECTIVES)
    parser.add_argument("--ranks", default="2", help="numbers of ranks, separated by commas")
    parser.add_argument("--bench", default="--sizes 8,1Ki,64Ki,1Mi --passes 1 --time 0.05")
    parser.add_argument("-o", "--output", type=argparse.FileType("w"), default="-")
    options = parser.parse_args()
    tools = options.before, options.after
    kept = []
    for collective, ranks in product(options.collectives.split(","), options.ranks.split(",")):
        part = [collective, "--ranks", ranks, *options.bench.split()]
        pairs = list(measure_pairs(tools, part, options.runs))
        kept.append([pair for pair in pairs if comparable(pair)])
        print(f"{collective}, {ranks} ranks: {len(kept[-1])} of {len(pairs)} pairs", file=sys.stderr)
        if not kept[-1]:
            sys.exit("before_after: no pair of runs in which cache lines were equally far; try again")
    made = options.runs * len(kept)
    arguments = f"bench {options.collectives.replace(',', ' ')} --ranks {options.ranks} {options.bench}"
    for line in report(kept, made, arguments):
        print(line, file=options.output)


main()
