"""Which of many tests are significant together (Benjamini and Hochberg 1995)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


def significant(p_values: ArrayLike, rate: float) -> NDArray[np.bool_]:
    """Return which p-values are significant together; nan stands for a test without data.

    If no effect is real, the probability that any is called significant is ``rate`` at most.
    """
    values = np.asarray(p_values, dtype=float)
    counted = ~np.isnan(values)
    found = np.zeros(values.shape, dtype=np.bool_)
    if counted.any():
        found[counted] = stats.false_discovery_control(values[counted]) <= rate
    return found
