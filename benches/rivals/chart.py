"""Ratios as a picture: a row for each point, a mark for each kind of peer, a line from least to greatest."""

from html import escape
from math import log2
from statistics import median

ROW, LEFT, UNIT, TOP = 18, 210, 52, 64
KINDS = [("/ best MPI", "#0072b2", "circle"), ("/ OpenMP", "#d55e00", "square"), ("/ floor", "#666666", "bar")]


def svg(rows):
    """Of rows `(label, [ratios to MPI, to OpenMP, to the floor])`, each ratio list one of the passes."""
    flat = [ratio for _, kinds in rows for ratios in kinds for ratio in ratios]
    low = min([-1, *(int(log2(ratio)) - 1 for ratio in flat)])
    high = max([1, *(int(log2(ratio)) + 1 for ratio in flat)])
    at = lambda ratio: LEFT + (log2(ratio) - low) * UNIT
    width, height = LEFT + (high - low) * UNIT + 20, TOP + ROW * len(rows) + 20
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width:.0f}" height="{height}" fill="white"/>',
        '<text x="8" y="18" font-size="14">Our time over theirs: left of 1 is faster. Median of the passes, least to greatest.</text>',
    ]
    out += legend()
    out += grid(low, high, height)
    for number, (label, kinds) in enumerate(rows):
        y = TOP + ROW * number + ROW / 2
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(label)}</text>')
        for shift, ((_, colour, shape), ratios) in enumerate(zip(KINDS, kinds)):
            if ratios:
                out += marks(ratios, at, y + 4 * (shift - 1), colour, shape)
    return "\n".join([*out, "</svg>", ""])


def legend():
    for number, (name, colour, shape) in enumerate(KINDS):
        x = LEFT + 130 * number
        yield mark(x, 36, colour, shape)
        yield f'<text x="{x + 10}" y="40">{name}</text>'


def grid(low, high, height):
    for power in range(low, high + 1):
        x = LEFT + (power - low) * UNIT
        name = f"1/{2 ** -power}" if power < 0 else str(2**power)
        stroke = 'stroke="black"' if power == 0 else 'stroke="#dddddd"'
        yield f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{height - 16}" {stroke}/>'
        yield f'<text x="{x}" y="{TOP - 6}" text-anchor="middle">{name}</text>'


def marks(ratios, at, y, colour, shape):
    x1, x2 = at(min(ratios)), at(max(ratios))
    yield f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>'
    yield mark(at(median(ratios)), y, colour, shape)


def mark(x, y, colour, shape):
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
    width = 6 if shape == "square" else 2
    return f'<rect x="{x - width / 2:.1f}" y="{y - 3:.1f}" width="{width}" height="6" fill="{colour}"/>'
