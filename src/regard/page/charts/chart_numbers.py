"""The numbers of a chart in words: its axes, its points, and a table of them all."""

from regard.page.blocks import Table
from regard.page.charts.axes import written
from regard.page.charts.chart import Chart, Point

__all__ = ["axis_names", "interval_text", "numbers_table", "point_text"]


def axis_names(chart: Chart) -> tuple[str, str]:
    """The names of the axes, which say if one is logarithmic.

    Example:
        >>> from regard.page.charts.chart import Series
        >>> axis_names(Chart("", "length", "accuracy", (Series("a", (Point(1, 1),)),), log_x=True))
        ('length, log scale', 'accuracy')
    """
    log = ", log scale"
    return chart.x + log * chart.log_x, chart.y + log * chart.log_y


def interval_text(chart: Chart, point: Point) -> str:
    """The interval of a point, "" if it has none."""
    if point.interval is None:
        return ""
    low, high = point.interval
    return f"{written(low, chart.share)} to {written(high, chart.share)}"


def point_text(chart: Chart, point: Point) -> str:
    """A point in a few words.

    Example:
        >>> from regard.page.charts.chart import Series
        >>> point = Point(20, 0.875, 0.85, 0.9, 64)
        >>> chart = Chart("", "ms", "accuracy", (Series("a", (point,)),), size="memory (MiB)", share=True)
        >>> print(point_text(chart, point))
        ms 20, accuracy 87.5% (85% to 90%), memory (MiB) 64
    """
    parts = [f"{chart.x} {written(point.x)}".lstrip(), f"{chart.y} {written(point.y, chart.share)}".lstrip()]
    if point.interval is not None:
        parts[1] += f" ({interval_text(chart, point)})"
    if point.size is not None:
        parts.append(f"{chart.size} {written(point.size)}")
    return ", ".join(parts)


def numbers_table(chart: Chart) -> Table:
    """All points of a chart, one in each row.

    Example:
        >>> from regard.page.charts.chart import Series
        >>> chart = Chart("", "length", "accuracy", (Series("a", (Point(8, 0.5, 0.25, 0.75), Point(16, 0.25))),))
        >>> table = numbers_table(chart)
        >>> table.columns, table.rows[0]
        (('series', 'length', 'accuracy', 'interval'), ('a', '8', '0.5', '0.25 to 0.75'))
    """
    intervals = any(point.interval for point in chart.points)
    sizes = any(point.size is not None for point in chart.points)
    rows = []
    for series in chart.series:
        for point in series.points:
            row = [series.name, written(point.x), written(point.y, chart.share)]
            row += [interval_text(chart, point)] if intervals else []
            row += ["" if point.size is None else written(point.size)] if sizes else []
            rows.append(tuple(row))
    columns = ("series", chart.x, chart.y, *["interval"] * intervals, *[chart.size] * sizes)
    return Table(columns, tuple(rows), ("left", *("right" for _ in columns[1:])))
