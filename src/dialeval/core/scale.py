"""What the labels of a scale count."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def label_values(labels: tuple[str, ...]) -> NDArray[np.float64]:
    """What the labels of a scale count: the numbers they are, or else their places.

    By places the first label is the highest, as rubrics put the best first.

    >>> label_values(("2", "0.5", "-1")).tolist(), label_values(("good", "fair", "bad")).tolist()
    ([2.0, 0.5, -1.0], [2.0, 1.0, 0.0])
    """
    try:
        values = np.array([float(label) for label in labels])
    except ValueError:
        values = np.array([np.nan])
    if np.isfinite(values).all() and np.unique(values).size == len(labels):
        return values
    return np.arange(len(labels) - 1, -1, -1, dtype=float)
