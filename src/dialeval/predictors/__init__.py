"""Predictors: from a dialogue to the distribution of votes that people would give."""

from dialeval.predictors.predictor import Predictor
from dialeval.predictors.registry import get, names

__all__ = ["Predictor", "get", "names"]
