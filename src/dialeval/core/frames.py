"""Data frames, through pandas (extra `data`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialeval.core.errors import MissingExtraError


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas data frame of these columns."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("data frames", "data") from None
    return pandas.DataFrame(dict(columns))
