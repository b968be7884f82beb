"""The picture of the Long Range Arena from the lab's runs: quality, speed and memory of each variant, and the paper's.

Published: Tay et al. 2021, Long Range Arena (arXiv 2011.04006), tables 1 and 2.
"""

import functools
import json
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claim_tables import runs_of

from regard.inspection import chart_figure
from regard.inspection.figures.written import figure_bytes
from regard.lab import STUDIES
from regard.lab.synthetic.long_range import VARIANTS
from regard.page import Chart, Point, Series

__all__ = ["pictures", "table"]

MEASURED = Path(__file__).parent.parent / "benchmarks" / "results" / "variants.json"
AT = "4096"
TASKS: Mapping[str, str] = {"list_operations": "ListOps", "byte_text": "Text", "pixels": "Image"}
"""The studies, and the paper's names of such tasks."""
PUBLISHED: Mapping[str, tuple[float, float, float]] = {
    "full": (36.37, 64.27, 42.44),
    "local": (15.82, 52.98, 41.46),
    "longformer": (35.63, 62.85, 42.22),
    "bigbird": (36.05, 64.02, 40.83),
    "linear": (16.13, 65.90, 42.34),
    "performer": (18.01, 65.40, 42.77),
    "linformer": (35.70, 53.94, 38.56),
    "reformer": (37.27, 56.10, 38.07),
    "sinkhorn": (33.67, 61.20, 41.23),
    "synthesizer": (36.99, 61.68, 41.61),
}
"""Per cent right at ListOps, Text and Image; speed and memory are in the benchmark's table."""


def table() -> str:
    """Our figures with the paper's in parentheses, a row for each variant."""
    columns = ["variant", *(f"{name} (paper: {paper})" for name, paper in TASKS.items())]
    columns += ["speed of training (paper)", "memory of training in MiB (paper: share)"]
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)]]
    for variant in VARIANTS:
        scores, (speed, share) = PUBLISHED.get(variant), _published(variant)
        cells = [variant]
        for number, name in enumerate(TASKS):
            cells.append(_beside(f"{100 * _accuracy(name, variant):.1f}", scores and f"{scores[number]:.1f}"))
        cells.append(_beside(f"{_speed(variant):.2g}", speed))
        cells.append(_beside(f"{_found(variant)['memory']:.0f}", share and f"{float(share):.0%}"))
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def pictures() -> Iterator[tuple[str, str]]:
    """Our picture and the paper's: the name, and the SVG."""
    ours = [
        Series(variant, (Point(_speed(variant), _mean_accuracy(variant), size=_found(variant)["memory"]),))
        for variant in VARIANTS
    ]
    papers = [
        Series(variant, (Point(float(speed), statistics.fmean(scores) / 100, size=float(share)),))
        for variant, scores in PUBLISHED.items()
        for speed, share in [_published(variant)]
        if speed
    ]
    for name, title, size, series in (
        ("ours", "Quality, speed and memory by our runs", "MiB", ours),
        ("paper", "As published: ListOps, Text and Image, speed at 4 K", "share of the memory", papers),
    ):
        chart = Chart(
            title,
            "times as fast as full attention, n = 4096",
            "mean accuracy of three tasks",
            tuple(series),
            log_x=True,
            size=size,
            share=True,
        )
        yield name, figure_bytes(chart_figure(chart), "svg").decode("utf-8")


def _beside(ours: str, published: str | None) -> str:
    return f"{ours} ({published})" if published else ours


def _mean_accuracy(variant: str) -> float:
    return statistics.fmean(_accuracy(study, variant) for study in TASKS)


def _accuracy(study: str, variant: str) -> float:
    values = [run.value("accuracy") for run in runs_of(STUDIES[study]) if run.variant == variant]
    return statistics.fmean(value for value in values if value is not None)


def _speed(variant: str) -> float:
    return _found(variant)["training"]["ratio"] if variant != "full" else 1.0


def _found(variant: str) -> Any:
    return _measured()["found"][variant][AT]


def _published(variant: str) -> tuple[str, str]:
    """The paper's speed at 4 K, and its share of the memory, of the benchmark's table; "" where there is none."""
    # The paper's full attention holds all weights.
    wanted = "dense" if variant == "full" else variant
    columns, rows = _measured()["columns"], _measured()["rows"]
    cells = next(dict(zip(columns, row, strict=True)) for row in rows if row[0] == wanted)
    return cells["published, 4 K: speed"], cells["published, 4 K: share of the memory"]


@functools.cache
def _measured() -> Any:
    return json.loads(MEASURED.read_text(encoding="utf-8"))
