"""log against NumPy in extended precision."""

import numpy as np
import pytest

from regard.attention.engines.jit.compiling import compiled
from regard.attention.engines.jit.logarithm import logarithm


@compiled(cache=False)
def logarithms(x, result):
    for i in range(x.size):
        result[i] = logarithm(x[i])


def taken(x):
    result = np.empty_like(x)
    logarithms(x, result)
    return result


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87), (np.float64, -708)])
def test_logarithm(dtype, lowest):
    x = np.exp(np.linspace(lowest, 88, 100_003)).astype(dtype)
    true = np.log(x.astype(np.longdouble))
    assert (np.abs(taken(x) - true) <= 2 * np.finfo(dtype).eps * np.maximum(np.abs(true), 0.5)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_near_one(dtype):
    x = (1 + np.linspace(-1e-3, 1e-3, 10_007)).astype(dtype)
    true = np.log(x.astype(np.longdouble))
    assert (np.abs(taken(x) - true) <= 2 * np.finfo(dtype).eps * np.abs(true)).all()
    assert (taken(np.ones(3, dtype)) == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_times_its_logarithm_is_zero(dtype):
    x = np.array([0.0, np.finfo(dtype).smallest_subnormal], dtype)
    assert np.isfinite(taken(x)).all()
    assert np.abs(x * taken(x)).max() < 1e-40
