"""A molecule, as chemists draw it: atoms shaded by their weights, and the one for which is predicted framed."""

import math

import numpy as np

from regard.inspection.figures.colours import INK, WEIGHT_INK, shade
from regard.inspection.figures.inputs.below import Below
from regard.inspection.figures.sheet import LABEL, Sheet
from regard.inspection.figures.shown import Shown
from regard.inspection.figures.weighed import strengths
from regard.inspection.record.drawn_inputs import DrawnMolecule
from regard.page.numbers import percent

__all__ = ["draw_molecule"]

_HEIGHT, _MARGIN, _BOND = 190.0, 20.0, 30.0
# RDKit's bonds are so long.
_LENGTH = 1.5
_TURNS = 24
# How much of an atom the blue of the largest weight hides: its letters stay dark.
_COVER = 0.7


def draw_molecule(sheet: Sheet, shown: Shown, drawn: DrawnMolecule, weights: np.ndarray) -> Below:
    """Draw the atoms and bonds, and the largest weights beside their atoms."""
    spots, length, height = _placed(drawn.positions.astype(float), sheet.width)
    radius, size = max(2.5, min(0.36 * length, 10.0)), max(5.5, min(0.34 * length, 9.5))
    strength = strengths(weights)
    for item, (x, y) in enumerate(spots):
        own = item == shown.own
        fill = shade(_COVER * float(strength[item]))
        sheet.disc(x, y, radius, fill=fill, edge=WEIGHT_INK if own else None, line=1.6, gid=f"item-{item + 1}")
    for ends, dashed in _bonds(drawn, spots, size):
        sheet.line(ends, colour=INK, width=1.0, dashes=(0, (1.6, 2)) if dashed else "-")
    for symbol, (x, y) in zip(drawn.symbols, spots, strict=True):
        if symbol:
            sheet.text(x, y, symbol, size, align="center", bold=True)
    taken = [*spots, *(_middle(spots[a], spots[b]) for a, b, _ in drawn.bonds.tolist())]
    for item in shown.written(weights):
        where = _beside(spots[item], radius, taken)
        sheet.text(*where, percent(float(weights[item])), LABEL, align="center")
        taken.append(where)
    return Below(height, cover=_COVER)


def _middle(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


def _beside(spot: tuple[float, float], radius: float, taken: list[tuple[float, float]]) -> tuple[float, float]:
    """Where beside an atom there is most room for its number."""
    tries = [
        (spot[0] + (radius + 10) * math.cos(turn), spot[1] + (radius + 6) * math.sin(turn))
        for turn in (2 * math.pi * number / _TURNS for number in range(_TURNS))
    ]
    return max(tries, key=lambda where: min(math.dist(where, each) for each in taken))


def _placed(positions: np.ndarray, width: float) -> tuple[list[tuple[float, float]], float, float]:
    """Where the atoms are, how long a bond is, and the height: no bond is longer than wanted, and all fit."""
    corner = positions.min(0)
    wide, tall = (positions.max(0) - corner).tolist()
    scale = min(
        _BOND / _LENGTH,
        (width - 2 * _MARGIN) / max(wide, 1e-6),
        (_HEIGHT - 2 * _MARGIN) / max(tall, 1e-6),
    )
    spots = [(_MARGIN + x * scale, _MARGIN + y * scale) for x, y in (positions - corner).tolist()]
    return spots, _LENGTH * scale, tall * scale + 2 * _MARGIN


def _bonds(
    drawn: DrawnMolecule, spots: list[tuple[float, float]], size: float
) -> list[tuple[list[tuple[float, float]], bool]]:
    """The lines of the bonds, and whether each is dashed."""
    neighbours: list[list[int]] = [[] for _ in spots]
    for a, b, _ in drawn.bonds.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    found = []
    for a, b, lines in drawn.bonds.tolist():
        (ax, ay), (bx, by) = spots[a], spots[b]
        length = math.hypot(bx - ax, by - ay) or 1.0
        along = (bx - ax) / length, (by - ay) / length
        across = -along[1], along[0]
        # The second line stands inside of a ring, or on both sides of the middle where there is no inside.
        side = sum(
            float(np.sign((spots[each][0] - ax) * across[0] + (spots[each][1] - ay) * across[1]))
            for each in (*neighbours[a], *neighbours[b])
            if each not in (a, b)
        )
        inside = lines == 2 and abs(side) > 0.5
        gap = max(1.3, 0.1 * length)
        double = [0.0, math.copysign(1.6 * gap, side)] if inside else [-gap / 1.2, gap / 1.2]
        for shift in {2: double, 3: [-1.3 * gap, 0.0, 1.3 * gap]}.get(lines, [0.0]):
            inner = 0.12 * length if inside and shift else 0.0
            start, stop = (0.72 * size if drawn.symbols[atom] else inner for atom in (a, b))
            move = across[0] * shift, across[1] * shift
            ends = [
                (ax + along[0] * start + move[0], ay + along[1] * start + move[1]),
                (bx - along[0] * stop + move[0], by - along[1] * stop + move[1]),
            ]
            found.append((ends, lines == 0))
    return found
