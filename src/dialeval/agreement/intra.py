"""Whether raters agree with themselves: those who judged an item more than once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from dialeval.agreement.cohen import table_of
from dialeval.agreement.ratings import Array, Codes


def intra_tables(rounds: Sequence[Codes], labels: int) -> Array:
    """Of each rater the table of votes in an earlier round (rows) and a later one (columns).

    `rounds` are items by raters each. Every pair of rounds counts: three votes on an item are
    three pairs. Cohen's kappa of such a table is the intra-rater kappa.

    >>> first, second = np.array([[0, 1], [1, 1]]), np.array([[0, -1], [0, 1]])
    >>> intra_tables([first, second], 2).tolist()
    [[[1.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    """
    raters = rounds[0].shape[1]
    tables = np.zeros((raters, labels, labels))
    for earlier, later in combinations(rounds, 2):
        for rater in range(raters):
            both = np.column_stack([earlier[:, rater], later[:, rater]])
            tables[rater] += table_of(both, labels)
    return tables
