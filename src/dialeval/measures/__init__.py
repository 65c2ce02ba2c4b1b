"""Measures: how far a run's distributions are from gold. One small module a family."""

from dialeval.measures.divergence import jsd, kld
from dialeval.measures.match_distance import md, nmd
from dialeval.measures.mean_error import ae_mean, se_mean
from dialeval.measures.order_aware import rnod, rsnod
from dialeval.measures.registry import Measure, get, names
from dialeval.measures.squared_error import rnss

__all__ = [
    "Measure",
    "ae_mean",
    "get",
    "jsd",
    "kld",
    "md",
    "names",
    "nmd",
    "rnod",
    "rnss",
    "rsnod",
    "se_mean",
]
