"""Labels: names beside points, clear of points, of lines and of each other."""

from itertools import pairwise
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.isotonic import isotonic_regression

from onkel.race.report.looks import Look

# Pixels that a label would rather be away than cover a mark or another label, or
# a line; or than have its leader cross these.
COVERED, STRUCK, CROSSED, CROSSING = 1000.0, 80.0, 40.0, 8.0


def spread(ends: np.ndarray, gap: float) -> np.ndarray:
    """Move labels, which ascend, as little as possible until they are a gap apart.

    Examples
    --------
    >>> spread(np.array([1.0, 1.0, 5.0]), gap=2.0).tolist()
    [0.0, 2.0, 5.0]
    """
    # Least squares under a least distance is isotonic regression once the distance is
    # taken off.
    offsets = gap * np.arange(len(ends))
    return isotonic_regression(ends - offsets) + offsets


def _offsets() -> np.ndarray:
    """Places for a label around its point, in points."""
    angles = np.deg2rad([0, 180, 40, -40, 140, -140, 90, -90, 65, -65, 115, -115])
    radii = np.array([8, 14, 22, 32, 44, 58, 74, 92])
    unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return (radii[:, None, None] * unit).reshape(-1, 2)


def _overlaps(boxes: np.ndarray, others: np.ndarray) -> int:
    """Count pairs of boxes, rows of x0, y0, x1, y1, that overlap."""
    one, other = boxes[:, None], others[None]
    apart = (one[..., :2] >= other[..., 2:]) | (other[..., :2] >= one[..., 2:])
    return int((~apart.any(axis=2)).sum())


def _along(corners: np.ndarray) -> np.ndarray:
    """Boxes around pieces of a line with these corners."""
    pieces = np.concatenate(
        [np.linspace(one, other, 30) for one, other in pairwise(corners)]
    )
    return np.hstack([pieces - 1, pieces + 1])


def _leader(pixel: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Ends of the line from the rim of a mark to the nearest corner of a label."""
    end = np.clip(pixel, low, high)
    length = np.hypot(*(end - pixel))
    return np.array([pixel + (end - pixel) * min(1.0, 6.5 / max(length, 1e-9)), end])


def _clearest(
    corners: np.ndarray,
    pixel: np.ndarray,
    size: np.ndarray,
    margin: np.ndarray,
    solid: np.ndarray,
    others: np.ndarray,
    thin: np.ndarray,
) -> np.ndarray | None:
    """Return the lower left corner where a label is least in the way, if there is one.

    To be far from the point is bad, too, so that most places need not be looked at.
    """
    clearest, least = None, np.inf
    nearest = np.clip(pixel, corners, corners + size)
    distances = np.hypot(*(nearest - pixel).T)
    for place in np.argsort(distances, kind="stable"):
        if distances[place] >= least:
            break
        corner = corners[place]
        box = np.hstack([corner - margin, corner + size + margin])[None]
        pieces = _along(_leader(pixel, corner, corner + size))
        cost = (
            distances[place]
            + COVERED * _overlaps(box, solid)
            + STRUCK * (_overlaps(box, thin) > 0)
            + CROSSED * (_overlaps(pieces, others) > 0)
            + CROSSING * (_overlaps(pieces, thin) > 0)
        )
        if cost < least:
            clearest, least = corner, cost
    return clearest


def name_points(
    axes: Axes, where: np.ndarray, names: list[str], styles: list[Look], line: Any
) -> None:
    """Write names beside points, clear of points, of the line and of each other."""
    figure = cast(Figure, axes.figure)
    renderer: Any = cast(Any, FigureCanvasAgg(figure)).get_renderer()
    per_point = figure.dpi / 72
    pixels = axes.transData.transform(where)
    solid = np.hstack([pixels - 4.5 * per_point, pixels + 4.5 * per_point])
    thin = _along(axes.transData.transform(line))
    inside = axes.get_window_extent(renderer)
    # the right margin has room for names, too
    low, high = inside.p0, np.array([figure.bbox.x1, inside.y1])
    offsets, margin = _offsets() * per_point, np.array([3.0, 1.0]) * per_point
    for i, (xy, pixel, name) in enumerate(zip(where, pixels, names, strict=True)):
        label = _written(axes, xy, name, styles[i])
        size = np.array(label.get_window_extent(renderer).size)
        # the side of the label that faces the point
        sides = 0.5 - 0.5 * np.sign(np.round(offsets[:, :1], 6))
        corners = pixel + offsets - size * np.hstack([sides, np.full_like(sides, 0.5)])
        fits = ((corners >= low) & (corners + size <= high)).all(axis=1)
        corner = _clearest(
            corners[fits], pixel, size, margin, solid, np.delete(solid, i, axis=0), thin
        )
        if corner is None:
            label.remove()
            continue
        solid = np.vstack([solid, np.hstack([corner - margin, corner + size + margin])])
        middle = corner + size * [0.0, 0.5]
        label.set_position(tuple((middle - pixel) / per_point))
        led = _leader(pixel, corner, corner + size)
        if np.hypot(*(led[-1] - led[0])) > 6 * per_point:
            thin = np.vstack([thin, _along(led)])
            _lead(axes, xy, (led[-1] - pixel) / per_point, styles[i].colour)


def _written(axes: Axes, xy: np.ndarray, name: str, look: Look) -> Any:
    return axes.annotate(
        name,
        tuple(xy),
        (0, 0),
        textcoords="offset points",
        **look.lettering(9.5),
    )


def _lead(axes: Axes, xy: np.ndarray, end: np.ndarray, colour: str) -> None:
    """Draw a thin line from a point to its name."""
    axes.annotate(
        "",
        tuple(xy),
        tuple(end),
        textcoords="offset points",
        arrowprops={
            "arrowstyle": "-",
            "color": colour,
            "linewidth": 0.6,
            "shrinkA": 0,
            "shrinkB": 4,
        },
    )
