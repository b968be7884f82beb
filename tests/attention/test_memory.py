"""Memory grows with n, not with its square: measured as the peak of a process of its own."""

import subprocess
import sys

import pytest

# 8,192 items: one n x n matrix of float32 is 256 MiB, and the definition holds several.
PROBE = """
import resource, torch
from regard import attend
from regard.attention import Relative, Window
torch.set_num_threads(1)
x = torch.randn(1, 1, 8192, 8, requires_grad=True)
attend(x[:, :, :64], x[:, :, :64], x[:, :, :64], {arguments}).sum().backward()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
attend(x, x, x, {arguments}).sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "mask='causal'",
        "engine='blocked'",
        "weights='relu', mask='no_self'",
        "position=Relative(8, 4), mask=Window(50, 50)",
        "mask=lambda batch, head, query, key: (query + key) % 3 != 0",
        "dropout=0.1",
    ],
)
def test_peak_is_far_below_one_matrix_of_all_pairs(arguments):
    code = PROBE.format(arguments=arguments)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 192
