"""The measures by name, and which criteria each is fit for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from dialeval.core.errors import UsageError, unknown_name
from dialeval.core.rubric import Criterion
from dialeval.measures.distributions import Array, distributions
from dialeval.measures.divergence import jsd_kernel, kld_kernel
from dialeval.measures.match_distance import md_kernel, nmd_kernel
from dialeval.measures.mean_error import ae_mean_kernel, se_mean_kernel
from dialeval.measures.order_aware import rnod_kernel, rsnod_kernel
from dialeval.measures.squared_error import rnss_kernel


@dataclass(frozen=True)
class Measure:
    """A measure compares predicted distributions with gold; lower is better, 0 is perfect."""

    name: str
    title: str
    kernel: Callable[[Array, Array], Array]
    """On float64 arrays (..., labels) that are distributions already."""
    ordinal: bool
    """Needs labels in the order of a scale."""
    symmetric: bool = True
    bounded: bool = True
    """Lies between 0 and 1."""

    def __call__(self, p: ArrayLike, gold: ArrayLike) -> Array:
        return self.kernel(*distributions(p, gold))


_MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "rsnod", "Root Symmetric Normalised Order-aware Divergence", rsnod_kernel, ordinal=True
        ),
        Measure("nmd", "Normalised Match Distance", nmd_kernel, ordinal=True),
        Measure("jsd", "Jensen-Shannon Divergence", jsd_kernel, ordinal=False),
        Measure("rnss", "Root Normalised Sum of Squares", rnss_kernel, ordinal=False),
        Measure(
            "rnod",
            "Root Normalised Order-aware Divergence",
            rnod_kernel,
            ordinal=True,
            symmetric=False,
        ),
        Measure("md", "Match Distance", md_kernel, ordinal=True, bounded=False),
        Measure(
            "kld",
            "Kullback-Leibler Divergence",
            kld_kernel,
            ordinal=False,
            symmetric=False,
            bounded=False,
        ),
        Measure(
            "ae_mean", "Absolute Error of the Mean", ae_mean_kernel, ordinal=True, bounded=False
        ),
        Measure(
            "se_mean", "Squared Error of the Mean", se_mean_kernel, ordinal=True, bounded=False
        ),
    )
}


def get(name: str) -> Measure:
    """The measure of this name.

    >>> float(get("nmd")([1, 0, 0], [0, 0, 1]))
    1.0
    """
    if name not in _MEASURES:
        raise unknown_name("measure", name, _MEASURES)
    return _MEASURES[name]


def names() -> tuple[str, ...]:
    """All measures' names.

    >>> names()
    ('rsnod', 'nmd', 'jsd', 'rnss', 'rnod', 'md', 'kld', 'ae_mean', 'se_mean')
    """
    return tuple(_MEASURES)


def measures_for(criterion: Criterion, names: Sequence[str] | None = None) -> list[Measure]:
    """The criterion's own measures, or those of `names` that are fit for it."""
    own = [get(name) for name in criterion.measures]
    for measure in own:
        if measure.ordinal and criterion.kind == "nominal":
            raise UsageError(
                f"criterion {criterion.id!r} is nominal, but its measure {measure.name!r} needs "
                "labels in an order"
            )
    if names is None:
        return own
    chosen = [get(name) for name in names]
    return [m for m in chosen if not (m.ordinal and criterion.kind == "nominal")]
