"""exp, log, tanh, powers and reciprocals against NumPy in extended precision."""

import numpy as np
import pytest

from regard.attention.engines.jit.compiling import compiled
from regard.attention.engines.jit.elementary import exponential, hyperbolic_tangent, logarithm, power, reciprocal


@compiled(cache=False)
def exponentials(x, result):
    for i in range(x.size):
        result[i] = exponential(x[i])


@compiled(cache=False)
def tangents(x, result):
    for i in range(x.size):
        result[i] = hyperbolic_tangent(x[i])


@compiled(cache=False)
def powers(x, exponent, result):
    for i in range(x.size):
        result[i] = power(x[i], exponent)


@compiled(cache=False)
def reciprocals(x, result):
    for i in range(x.size):
        result[i] = reciprocal(x[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reciprocal(dtype):
    x = np.concatenate([np.linspace(1, 4, 100_003), 2.0 ** np.linspace(0, 125, 100_003)]).astype(dtype)
    result = np.empty_like(x)
    reciprocals(x, result)
    assert np.abs(result * x.astype(np.longdouble) - 1).max() <= np.finfo(dtype).eps


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87), (np.float64, -708)])
def test_exponential(dtype, lowest):
    x = np.linspace(lowest, 88, 100_003).astype(dtype)
    result = np.empty_like(x)
    exponentials(x, result)
    true = np.exp(x.astype(np.longdouble))
    assert np.abs(result / true - 1).max() <= np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponential_at_the_ends(dtype):
    x = np.array([np.nan, -np.inf, -1e30, 0, -0.0], dtype)
    result = np.empty_like(x)
    exponentials(x, result)
    assert np.isnan(result[0])
    assert result[1:].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hyperbolic_tangent(dtype):
    x = np.concatenate([np.linspace(-1e3, 1e3, 10_007), np.linspace(-20, 20, 100_003)]).astype(dtype)
    result = np.empty_like(x)
    tangents(x, result)
    assert np.abs(result - np.tanh(x.astype(np.longdouble))).max() <= 2 * np.finfo(dtype).eps


@pytest.mark.parametrize("exponent", [0.1, 0.5, 1.0, 4.0, 100.0, -1.0])
def test_power(exponent):
    x = np.concatenate([np.linspace(1e-6, 2, 10_007), 2.0 ** -np.arange(60)])
    result = np.empty_like(x)
    powers(x, exponent, result)
    true = x.astype(np.longdouble) ** exponent
    shown = true > 1e-290
    assert np.abs(result / true - 1)[shown].max() <= 1e-12


@compiled(cache=False)
def logarithms(x, result):
    for i in range(x.size):
        result[i] = logarithm(x[i])


def log_of(x):
    result = np.empty_like(x)
    logarithms(x, result)
    return result


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -87), (np.float64, -708)])
def test_logarithm(dtype, lowest):
    x = np.exp(np.linspace(lowest, 88, 100_003)).astype(dtype)
    true = np.log(x.astype(np.longdouble))
    assert (np.abs(log_of(x) - true) <= 2 * np.finfo(dtype).eps * np.maximum(np.abs(true), 0.5)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logarithm_near_one(dtype):
    x = (1 + np.linspace(-1e-3, 1e-3, 10_007)).astype(dtype)
    true = np.log(x.astype(np.longdouble))
    assert (np.abs(log_of(x) - true) <= 2 * np.finfo(dtype).eps * np.abs(true)).all()
    assert (log_of(np.ones(3, dtype)) == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_times_its_logarithm_is_zero(dtype):
    x = np.array([0.0, np.finfo(dtype).smallest_subnormal], dtype)
    assert np.isfinite(log_of(x)).all()
    assert np.abs(x * log_of(x)).max() < 1e-40
