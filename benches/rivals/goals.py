"""Which points miss the goals that rankfold has beside its rivals, and what the machine alone takes there.

A goal is a share of the time of another peer in the same pass. The floor is the least work of the machine, timed alone.
"""

from dataclasses import dataclass
from statistics import median

COPIED = ("all_gather", "all_to_all", "scatter")  # copying is most of the time of their long calls
HEAD = ["goal missed", "size", "lines", "ours", "ratio", "goal", "goal / floor", "ours / floor"]


@dataclass
class Goal:
    share: float
    of: str  # a peer, a group of peers, or a part of the floor


def goals(op, bytes):
    """The goals of a point, of which one suffices."""
    name, fresh = op.removesuffix("_fresh"), op.endswith("_fresh")
    if name in ("stream", "window"):
        return [Goal(0.9 if name == "stream" else 0.8, "mpi")]
    if name in ("scan", "barrier"):
        return [Goal(0.6, "mpi")]
    if op == "p2p_fresh":
        return [Goal(2.0 if bytes <= 64 << 10 else 1.0, "fetch_fresh")]
    if op == "all_reduce_inplace":
        return [Goal(1.0, "by-hand")]
    if op == "run_all_reduce":
        return [Goal(0.9, "openmp")]
    if not fresh:
        return []
    beside_mpi = Goal(0.7 if 1 << 10 < bytes <= 16 << 10 else 0.6, "mpi")
    return [beside_mpi, Goal(0.97, "by-hand")] if name in COPIED and bytes >= 64 << 10 else [beside_mpi]


def missed(figures, point, names):
    """The cells of each goal of a point that misses all of them, near or far."""
    ours = {number: row.median for number, row in figures.rows[point].get("rankfold", {}).items()}
    beside = [(goal, times(figures, point, goal.of, names)) for goal in goals(*point[1:])]
    for state in "near", "far":
        mine = {number: time for number, time in ours.items() if ((*point, number) in figures.far) == (state == "far")}
        checked = [(goal, ratios) for goal, theirs in beside if (ratios := ratio(mine, theirs))]
        if not checked or any(median(ratios.values()) <= goal.share for goal, ratios in checked):
            continue
        for goal, ratios in checked:
            times_told = [f"{median(values.values()):.3g}" for values in (mine, ratios)]
            yield [state, *times_told, f"{goal.share} of {goal.of}", *beside_floor(figures, point, mine, goal, ratios)]


def has_goal(figures, point, names):
    """Whether a point has a goal, and a pass with both our time and that of the goal's peer."""
    ours = figures.rows[point].get("rankfold", {})
    return any(ours.keys() & times(figures, point, goal.of, names).keys() for goal in goals(*point[1:]))


def ratio(ours, theirs):
    return {number: time / theirs[number] for number, time in ours.items() if number in theirs}


def beside_floor(figures, point, ours, goal, ratios):
    """The goal's time, and ours, over the floor's."""
    floors = {number: floor for number in ratios if (floor := figures.floor(point, number))}
    if not floors:
        return "-", "-"
    over = {number: ours[number] / floor for number, floor in floors.items()}
    allowed = [goal.share * over[number] / ratios[number] for number in floors]
    return f"{median(allowed):.2f}", f"{median(over.values()):.2f}"


def times(figures, point, whose, names):
    """The times of a peer, of the best of a group, or of a part of the floor, by pass."""
    grounds = {where[-1]: ground[whose] for where, ground in figures.ground.items() if where[:-1] == point and whose in ground}
    best = figures.best(point, names.get(whose, {whose}))
    return grounds or {number: row.median for number, row in figures.rows[point].get(best, {}).items()}
