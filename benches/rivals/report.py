"""What came of a run: ratios within passes, as a table, CSV and SVG."""

import csv
import os
import platform
import subprocess
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median

import chart
import goals

SHORT = 32  # bytes
FAR = 2.0  # a pass is far if its line costs so many times that of the run's nearest


@dataclass
class Point:
    """One peer's answer at one point in one pass, in microseconds."""

    number: int
    peer: str
    ranks: int
    op: str
    bytes: int
    median: float
    least: float
    p99: float
    samples: int
    batch: int
    asked_for: tuple = None


def bytes_of(count):
    for unit, name in (1 << 20, "MiB"), (1 << 10, "KiB"):
        if count >= unit and count % unit == 0:
            return f"{count // unit} {name}"
    return f"{count} B" if count else "-"


def grounds(op, bytes, where):
    """What the machine must do at least for an operation: floor questions whose times add up.

    All lines are asked for at every point, also to tell near from far.
    """
    name = op.removesuffix("_fresh").removesuffix("_skewed")
    moved = {
        "p2p": bytes, "p2p_bounce": bytes, "broadcast": bytes, "scatter": bytes, "scan": bytes,
        "stream": bytes, "window": bytes, "all_to_all": bytes,
        "all_gather": bytes * where.ranks,
    }.get(name, bytes // where.ranks) // 4 * 4
    lines = [("line_hand", 0), ("line_exchange", 0), ("line_meet", 0)]
    if not moved:
        return lines
    if op.endswith("_fresh") or name == "p2p_bounce":
        return [*lines, ("fetch_fresh", moved)]
    if name in ("p2p", "stream", "window", "broadcast", "scatter", "all_gather", "all_to_all"):
        return [*lines, ("copy", moved)]
    return [*lines, ("accumulate" if name.endswith("_inplace") else "add", moved)]


def line_of(op, ground):
    """The line that a call cannot do without: one hand-over, or one each way by the cheaper means."""
    one_way = op.startswith(("p2p", "stream", "window", "broadcast", "scatter", "scan"))
    there = [ground[line] for line in (["line_hand"] if one_way else ["line_exchange", "line_meet"]) if line in ground]
    return min(there, default=None)


class Figures:
    """All rows of a run, by point, pass and peer."""

    def __init__(self, rows):
        self.rows, self.ground = {}, {}
        for row in rows:
            if row.asked_for:
                self.ground.setdefault((row.ranks, *row.asked_for, row.number), {})[row.op] = row.median
            else:
                self.rows.setdefault((row.ranks, row.op, row.bytes), {}).setdefault(row.peer, {})[row.number] = row

        self.far = self.far_points()

    def far_points(self):
        """The points and passes in which a line cost much more than it did at the nearest."""
        hands = {where: ground["line_hand"] for where, ground in self.ground.items() if "line_hand" in ground}
        nearest = {}
        for where, time in hands.items():
            nearest[where[0]] = min(time, nearest.get(where[0], time))
        return {where for where, time in hands.items() if time > FAR * nearest[where[0]]}

    def floor(self, point, number):
        """The lines and the memory that a call cannot do without, in one pass."""
        ground = self.ground.get((*point, number), {})
        line = line_of(point[1], ground)
        if line is None:
            return None
        # A short message travels in the line that announces it.
        moved = 0 if point[2] <= SHORT else sum(time for op, time in ground.items() if not op.startswith("line"))
        return line + moved

    def line(self, point):
        """What a line cost that two handed to and fro, in the passes of a point: nanoseconds."""
        passes = [ground for (*where, _), ground in self.ground.items() if tuple(where) == point]
        return spread([1e3 * ground["line_hand"] for ground in passes if "line_hand" in ground])

    def best(self, point, names):
        """The peer of these whose median over the passes is least."""
        there = {name: rows for name, rows in self.rows[point].items() if name in names}
        return min(there, key=lambda name: median(row.median for row in there[name].values()), default=None)

    def ratios(self, point, name):
        """Ours over a peer's, by pass."""
        ours, theirs = self.rows[point].get("rankfold", {}), self.rows[point].get(name, {})
        return {number: ours[number].median / theirs[number].median for number in ours if number in theirs}

    def floor_ratios(self, point):
        ours = self.rows[point].get("rankfold", {})
        floors = {number: self.floor(point, number) for number in ours}
        return {number: ours[number].median / floors[number] for number in ours if floors[number]}

    def told(self, point, ratios):
        """Ratios as the table has them; near and far apart where there were both."""
        states = {state: [] for state in ("near", "far")}
        for number, ratio in ratios.items():
            states["far" if (*point, number) in self.far else "near"].append(ratio)
        if all(states.values()):
            return ", ".join(f"{state} {spread(some)}" for state, some in states.items())
        return spread([*ratios.values()])


def spread(values, digits=3):
    """Median, least and greatest of some ratios."""
    if not values:
        return "-"
    show = lambda value: f"{value:.{digits}g}"
    return f"{show(median(values))} [{show(min(values))}-{show(max(values))}]"


def machine():
    model = next((line.split(":", 1)[1].strip() for line in lines_of("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    governor = next(iter(lines_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")), "unknown")
    return f"{model}; {platform.machine()}, kernel {platform.release()}, governor {governor}"


def lines_of(path):
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def states(figures):
    """How near the CPUs were, pass by pass, by the line that two hand to and fro."""
    passes = {}
    for (ranks, op, bytes, number), ground in figures.ground.items():
        if "line_hand" in ground:
            far = (ranks, op, bytes, number) in figures.far
            passes.setdefault((ranks, number), []).append((1e3 * ground["line_hand"], far))
    for (ranks, number), points in sorted(passes.items()):
        far = sum(far for _, far in points)
        where = f"far at {far} of {len(points)} points" if far else "near"
        yield f"line      {ranks} ranks, pass {number + 1}: {spread([time for time, _ in points])} ns, {where}"


def groups(found):
    return {
        "mpi": {peer.name for peer in found if peer.is_mpi},
        "openmp": {peer.name for peer in found if peer.is_openmp},
    }


LEGEND = [
    "Times: microseconds, median over the passes. Ratios: ours over theirs in the same pass, median",
    "[least-greatest] of the passes. Below 1 we are faster.",
]


def commit():
    """What of rankfold is measured."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown commit"


def text(rows, found, missing, seconds, cpus):
    """The whole table."""
    figures = Figures(rows)
    names = groups(found)
    others = [peer.name for peer in found if not (peer.is_mpi or peer.is_openmp or peer.name == "rankfold")]
    out = [f"machine   {machine()}; {os.cpu_count()} CPUs, used in this order: {','.join(map(str, cpus))}"]
    out += [f"ours      rankfold {commit()}", *states(figures)]
    out += [f"peer      {peer.name:<10} {peer.version}" for peer in found if peer.version]
    out += [f"missing   {name:<10} {why}" for name, why in missing]
    out += [f"took      {seconds:.0f} s", "", *LEGEND, ""]
    for ranks in sorted({row.ranks for row in rows}):
        out += table(figures, ranks, names, others)
        out += goals_of(figures, ranks, names)
    return "\n".join(out)


def table(figures, ranks, names, others):
    head = ["op", "size", "ours", "min", "p99", "best MPI", "", "/ best MPI", "best OpenMP", "", "/ OpenMP", "floor", "/ floor", "line, ns", "others"]
    lines = [row_of(figures, point, names, others) for point in figures.rows if point[0] == ranks]
    return [f"{ranks} ranks", *in_columns([head, *lines]), ""]


def in_columns(lines):
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]


def goals_of(figures, ranks, names):
    """The points that miss their goals."""
    points = [point for point in figures.rows if point[0] == ranks and goals.has_goal(figures, point, names)]
    missed = {point: [[point[1], bytes_of(point[2]), *cells] for cells in goals.missed(figures, point, names)] for point in points}
    if not points:
        return []
    told = f"{sum(not lines for lines in missed.values())} of {len(points)} points that have a goal are within it wherever the lines were"
    rows = [line for lines in missed.values() for line in lines]
    return [told, *(in_columns([goals.HEAD, *rows]) if rows else []), ""]


def row_of(figures, point, names, others):
    ours = figures.rows[point].get("rankfold", {}).values()
    cells = [point[1], bytes_of(point[2]), *(middle(getattr(row, field) for row in ours) for field in ("median", "least", "p99"))]
    for group in names.values():
        best = figures.best(point, group)
        theirs = figures.rows[point].get(best, {}).values()
        cells += [best or "-", middle(row.median for row in theirs), figures.told(point, figures.ratios(point, best))]
    floors = [figures.floor(point, row.number) for row in ours]
    cells += [middle(floor for floor in floors if floor), figures.told(point, figures.floor_ratios(point))]
    beside = [f"{name} {figures.told(point, figures.ratios(point, name))}" for name in others if name in figures.rows[point]]
    return [*cells, figures.line(point), ", ".join(beside)]


def middle(values):
    values = list(values)
    return f"{median(values):.3g}" if values else "-"


def picture(figures, names):
    """The rows of the chart."""
    rows = []
    for point in figures.rows:
        ratios = [[*figures.ratios(point, figures.best(point, group)).values()] for group in names.values()]
        label = f"{point[1]} {bytes_of(point[2])}" + (f", {point[0]} ranks" if point[0] != 2 else "")
        rows.append((label, [*ratios, [*figures.floor_ratios(point).values()]]))
    return chart.svg(rows)


def write(folder, rows, found, table_text):
    """table.txt, points.csv and ratios.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.txt").write_text(table_text + "\n")
    with open(folder / "points.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([field.name for field in fields(Point)])
        out.writerows(astuple(row) for row in rows)
    (folder / "ratios.svg").write_text(picture(Figures(rows), groups(found)))
