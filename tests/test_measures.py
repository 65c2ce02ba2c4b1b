"""Properties that every measure must have, and values worked out from the formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st

from dialeval import measures
from dialeval.core.errors import UsageError

ALL = [measures.get(name) for name in measures.names()]
by_name = pytest.mark.parametrize("measure", ALL, ids=lambda measure: measure.name)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two distributions over the same labels, with zeros in them."""
    labels = draw(st.integers(2, 8))
    weight = st.one_of(st.just(0), st.integers(1, 50))
    row = st.lists(weight, min_size=labels, max_size=labels).filter(any)
    p, q = np.array(draw(row), float), np.array(draw(row), float)
    return p / p.sum(), q / q.sum()


@by_name
@given(pair=pairs())
def test_equal_distributions_score_zero(measure: measures.Measure, pair) -> None:
    assert measure(pair[0], pair[0]) == pytest.approx(0, abs=1e-9)


@by_name
@given(pair=pairs())
def test_never_negative_and_bounded_where_said(measure: measures.Measure, pair) -> None:
    value = measure(*pair)
    assert value >= 0
    assert np.isfinite(value)
    if measure.bounded:
        assert value <= 1 + 1e-12


@by_name
@given(pair=pairs())
def test_symmetric_where_said(measure: measures.Measure, pair) -> None:
    p, q = pair
    if measure.symmetric:
        assert measure(p, q) == pytest.approx(measure(q, p), abs=1e-12)


def test_the_others_are_not_symmetric() -> None:
    p, q = [0.7, 0.2, 0.1], [0.1, 0.0, 0.9]
    for measure in ALL:
        if not measure.symmetric:
            assert abs(measure(p, q) - measure(q, p)) > 1e-3


@by_name
@given(pair=pairs(), scale=st.floats(0.01, 100))
def test_blind_to_scaling(measure: measures.Measure, pair, scale: float) -> None:
    p, q = pair
    assert measure(p * scale, q) == pytest.approx(float(measure(p, q)), rel=1e-9, abs=1e-9)


@by_name
def test_grows_with_distance_only_if_ordinal(measure: measures.Measure) -> None:
    """Mass that is two steps off is worse than one step off for ordinal measures only."""
    gold, near, far = np.eye(5)[0], np.eye(5)[1], np.eye(5)[4]
    if measure.ordinal:
        steps = [float(measure(np.eye(5)[k], gold)) for k in range(5)]
        assert all(b > a for a, b in itertools.pairwise(steps))
    else:
        assert measure(near, gold) == pytest.approx(float(measure(far, gold)))


@pytest.mark.parametrize("name", ["nmd", "rsnod", "rnod", "rnss", "jsd"])
@given(pair=pairs())
def test_agrees_with_the_formula(name: str, pair) -> None:
    p, q = pair
    expected = getattr(reference, name)(p.tolist(), q.tolist())
    assert measures.get(name)(p, q) == pytest.approx(expected, abs=1e-12)


def test_worked_example() -> None:
    """Worked out by hand for p = (.5, .5, 0), p* = (0, .5, .5)."""
    p, q = [0.5, 0.5, 0], [0, 0.5, 0.5]
    assert measures.md(p, q) == pytest.approx(1)
    assert measures.nmd(p, q) == pytest.approx(0.5)
    # DW = (.25 * 2, .25 + .25, .25 * 2) = (.5, .5, .5), so OD = .5 both ways.
    assert measures.rnod(p, q) == pytest.approx(0.5)
    assert measures.rsnod(p, q) == pytest.approx(0.5)
    assert measures.rnss(p, q) == pytest.approx(0.5)
    # m = (.25, .5, .25): KLD = .5 * log2(2) + 0 = .5 both ways.
    assert measures.jsd(p, q) == pytest.approx(0.5)
    assert measures.ae_mean(p, q) == pytest.approx(1)
    assert measures.se_mean(p, q) == pytest.approx(1)
    # Smoothed: .5 log2((.5 + e) / (.5 + e)) + .5 log2((.5 + e) / e) + a vanishing term.
    e = 1e-6
    expected = (0.5 + e) * np.log2((0.5 + e) / e) + e * np.log2(e / (0.5 + e))
    assert measures.kld(p, q) == pytest.approx(expected / (1 + 3 * e), abs=1e-12)


@by_name
def test_vectorised(measure: measures.Measure) -> None:
    random = np.random.default_rng(1)
    p, q = random.dirichlet(np.ones(4), (3, 5)), random.dirichlet(np.ones(4), (3, 5))
    values = measure(p, q)
    assert values.shape == (3, 5)
    assert values.dtype == np.float64
    for i, j in itertools.product(range(3), range(5)):
        assert values[i, j] == pytest.approx(float(measure(p[i, j], q[i, j])), abs=1e-14)


@by_name
@pytest.mark.parametrize(
    "p",
    [[0, 0, 0], [1, -1, 1], [float("nan"), 1, 0], [float("inf"), 1, 0], [1, 0], [1], 1],
    ids=str,
)
def test_refuses_what_is_no_distribution(measure: measures.Measure, p: object) -> None:
    with pytest.raises(UsageError):
        measure(p, [0.2, 0.3, 0.5])


def test_unknown_measure_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'rsnod'\?"):
        measures.get("rsnd")
