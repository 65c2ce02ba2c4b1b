"""The statistics against exact enumeration, independent implementations and published values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats

from dialeval.core.errors import UsageError
from dialeval.stats.anova import anova, effect_sizes
from dialeval.stats.kendall import kendall
from dialeval.stats.pairwise import achieved_levels, discriminative_power, holm, paired_t
from dialeval.stats.randomised import paired_randomisation, tukey_hsd
from dialeval.stats.topic_size import power, reached_difference, topic_size


def exact_tukey(scores: np.ndarray) -> np.ndarray:
    """p-values over all permutations of all rows: (m!)^n of them."""
    n, m = scores.shape
    means = scores.mean(axis=0)
    wanted = np.abs(means[:, None] - means)
    orders = list(itertools.permutations(range(m)))
    hits, total = np.zeros((m, m)), 0
    for choice in itertools.product(orders, repeat=n):
        permuted = np.array([[scores[row, k] for k in choice[row]] for row in range(n)])
        spread = permuted.mean(axis=0)
        hits += spread.max() - spread.min() >= wanted - 1e-12
        total += 1
    return hits / total


@pytest.mark.parametrize("shape", [(4, 3), (7, 2), (2, 4)])
def test_tukey_agrees_with_the_exact_distribution(shape: tuple[int, int]) -> None:
    scores = np.random.default_rng(sum(shape)).random(shape) + np.arange(shape[1]) * 0.2
    found = tukey_hsd(scores, trials=40_000)
    # Four standard errors of a share of 40,000 trials.
    assert np.abs(found - exact_tukey(scores)).max() < 4 * 0.5 / np.sqrt(40_000)


def test_tukey_with_ties_and_constants() -> None:
    scores = np.random.default_rng(0).random((20, 1)).repeat(3, axis=1)
    assert (tukey_hsd(scores, trials=300) == 1).all()  # equal runs: every range is 0, and counts
    constant = np.tile([0.1, 0.5, 0.9], (12, 1))
    found = tukey_hsd(constant, trials=2000)
    assert found[0, 2] < 0.01
    assert found[0, 1] == found[1, 2]
    ties = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]] * 5)
    assert np.array_equal(tukey_hsd(ties, trials=500), np.ones((3, 3)))


def test_tukey_does_not_depend_on_the_jobs() -> None:
    scores = np.random.default_rng(3).random((100, 6)) + np.linspace(0, 0.15, 6)
    one = tukey_hsd(scores, trials=3000, seed=5, jobs=1)
    assert np.array_equal(one, tukey_hsd(scores, trials=3000, seed=5, jobs=2))
    assert not np.array_equal(one, tukey_hsd(scores, trials=3000, seed=6))
    pairs = paired_randomisation(scores, trials=3000, seed=5, jobs=1)
    assert np.array_equal(pairs, paired_randomisation(scores, trials=3000, seed=5, jobs=2))


def test_tukey_is_calibrated_under_the_null() -> None:
    """With two alike systems, p is uniform; with more, the smallest p is so at the family level."""
    random = np.random.default_rng(11)
    smallest = [tukey_hsd(random.random((25, 4)), trials=400, seed=k).min() for k in range(250)]
    assert scipy.stats.kstest(smallest, "uniform").pvalue > 0.01
    two = [tukey_hsd(random.random((25, 2)), trials=400, seed=k)[0, 1] for k in range(250)]
    assert scipy.stats.kstest(two, "uniform").pvalue > 0.01


def test_paired_randomisation_agrees_with_all_sign_flips() -> None:
    scores = np.random.default_rng(2).random((10, 2)) + np.array([0, 0.15])
    d = scores[:, 0] - scores[:, 1]
    flips = [abs(np.dot(signs, d)) for signs in itertools.product((-1, 1), repeat=10)]
    exact = np.mean([value >= abs(d.sum()) - 1e-12 for value in flips])
    found = paired_randomisation(scores, trials=40_000)[0, 1]
    assert found == pytest.approx(exact, abs=4 * 0.5 / np.sqrt(40_000))


def test_paired_t_agrees_with_scipy() -> None:
    scores = np.random.default_rng(4).random((30, 4))
    found = paired_t(scores)
    for i, j in itertools.combinations(range(4), 2):
        expected = scipy.stats.ttest_rel(scores[:, i], scores[:, j]).pvalue
        assert found[i, j] == found[j, i] == pytest.approx(expected, abs=1e-12)
    alike = np.column_stack([scores[:, 0], scores[:, 0], scores[:, 0] + 0.5])
    assert paired_t(alike)[0, 1] == 1
    assert paired_t(alike)[0, 2] == 0


def test_holm_by_hand() -> None:
    p = np.ones((4, 4))
    values = [0.01, 0.04, 0.03, 0.005, 0.2, 0.9]
    for (i, j), value in zip(itertools.combinations(range(4), 2), values, strict=True):
        p[i, j] = p[j, i] = value
    # Sorted .005 .01 .03 .04 .2 .9 times 6 5 4 3 2 1: .03 .05 .12 .12 .4 .9.
    expected = dict(zip(values, [0.05, 0.12, 0.12, 0.03, 0.4, 0.9], strict=True))
    corrected = holm(p)
    for i, j in itertools.combinations(range(4), 2):
        assert corrected[i, j] == pytest.approx(expected[p[i, j]])


def test_anova_agrees_with_scipy() -> None:
    scores = np.random.default_rng(5).random((40, 5)) + np.linspace(0, 0.2, 5)
    table = anova(scores)
    expected = scipy.stats.f_oneway(*scores.T)
    assert table.f == pytest.approx(expected.statistic)
    assert table.p == pytest.approx(expected.pvalue)
    assert (table.between_freedom, table.error_freedom) == (4, 195)


def test_effect_sizes_by_the_formula() -> None:
    scores = np.random.default_rng(6).random((9, 3))
    n, m = scores.shape
    residual = sum((scores[d, i] - scores[:, i].mean()) ** 2 for d in range(n) for i in range(m))
    v_e = residual / (m * (n - 1))
    found = effect_sizes(scores)
    for i, j in itertools.product(range(m), repeat=2):
        difference = abs(scores[:, i].mean() - scores[:, j].mean())
        assert found[i, j] == pytest.approx(difference / np.sqrt(v_e))
    constant = effect_sizes(np.tile([0.1, 0.1, 0.5], (4, 1)))
    assert constant[0, 1] == 0
    assert constant[0, 2] == float("inf")


# Mean RSNOD and NMD of ten runs (Chinese, A-score, NTCIR-14 STC-3), and what NSM3's kendall.ci
# prints for them: tau .556, asymptotic .086 .. 1.026, bootstrap (B = 10,000) 0 .. .952.
RSNOD = [0.1263204, 0.2532300, 0.2477946, 0.1273335, 0.1306137]
RSNOD += [0.1235445, 0.1248592, 0.1251284, 0.1274320, 0.1262978]
NMD = [0.0862949, 0.1676507, 0.1855466, 0.0858686, 0.0831415]
NMD += [0.0819169, 0.0842887, 0.0835986, 0.0859789, 0.0845325]


def test_kendall_as_nsm3() -> None:
    found = kendall(RSNOD, NMD)
    assert round(found.tau, 3) == 0.556
    assert [round(value, 3) for value in found.asymptotic] == [0.086, 1.026]
    assert found.bootstrap == pytest.approx((0, 0.952), abs=0.02)
    assert kendall(RSNOD, NMD).bootstrap == found.bootstrap


def test_kendall_tau_b_under_ties() -> None:
    random = np.random.default_rng(7)
    for _ in range(20):
        x, y = random.integers(0, 4, 9), random.integers(0, 4, 9)
        expected = scipy.stats.kendalltau(x, y).statistic
        assert kendall(x, y, resamples=10).tau == pytest.approx(expected)
    assert np.isnan(kendall([1, 1, 1], [1, 2, 3], resamples=10).tau)
    with pytest.raises(UsageError):
        kendall([1], [1])


def test_kendall_bootstrap_agrees_with_resampling_one_by_one() -> None:
    random = np.random.default_rng(8)
    taus = []
    for _ in range(4000):
        pick = random.integers(10, size=10)
        taus.append(scipy.stats.kendalltau(np.array(RSNOD)[pick], np.array(NMD)[pick]).statistic)
    taus = np.sort(taus)
    assert kendall(RSNOD, NMD).bootstrap == pytest.approx((taus[99], taus[-100]), abs=0.03)


def test_discriminative_power() -> None:
    p = np.array([[1, 0.01, 0.2], [0.01, 1, 0.03], [0.2, 0.03, 1]])
    assert achieved_levels(p).tolist() == [0.2, 0.03, 0.01]
    assert discriminative_power(p) == pytest.approx(2 / 3)


def test_topic_size_published_answer() -> None:
    design = {"alpha": 0.05, "min_diff": 0.05, "systems": 10}
    assert topic_size(power=0.8, variance=0.00485, **design) == 62
    assert topic_size(power=0.8, variance=0.00479, **design) == 61
    assert topic_size(power=0.8, variance=0.00490, **design) == 63


@pytest.mark.parametrize("n", [5, 60, 500])
def test_topic_size_and_its_inverses(n: int) -> None:
    design = {"alpha": 0.05, "systems": 6, "variance": 0.02}
    difference = reached_difference(n, power=0.7, **design)
    assert power(n, min_diff=difference, **design) == pytest.approx(0.7, abs=1e-6)
    assert topic_size(power=0.7, min_diff=difference * 1.0001, **design) == n
    assert power(n - 1, min_diff=difference, **design) < 0.7
    assert power(n, min_diff=difference, **design) == pytest.approx(
        1
        - scipy.stats.ncf.cdf(
            scipy.stats.f.ppf(0.95, 5, 6 * (n - 1)), 5, 6 * (n - 1), n * difference**2 / 0.04
        ),
        abs=1e-9,
    )


def test_power_is_what_simulation_gives() -> None:
    """Two systems at the ends, the others in the middle: the least favourable case."""
    random = np.random.default_rng(9)
    means = np.array([-0.05, 0.05, 0, 0, 0])
    hits = sum(anova(random.normal(means, 0.2, (30, 5))).p < 0.05 for _ in range(1500))
    expected = power(30, alpha=0.05, min_diff=0.1, systems=5, variance=0.04)
    assert hits / 1500 == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    "bad",
    [{"alpha": 0}, {"power": 1}, {"min_diff": 0}, {"systems": 1}, {"variance": -1}],
    ids=str,
)
def test_topic_size_refuses_nonsense(bad: dict[str, float]) -> None:
    design = {"alpha": 0.05, "power": 0.8, "min_diff": 0.1, "systems": 5, "variance": 0.01}
    with pytest.raises(UsageError):
        topic_size(**{**design, **bad})


@pytest.mark.parametrize("scores", [np.ones((1, 3)), np.ones((3, 1)), np.array([[1, np.nan]] * 2)])
def test_tables_that_cannot_be_tested(scores: np.ndarray) -> None:
    with pytest.raises(UsageError):
        tukey_hsd(scores, trials=10)
