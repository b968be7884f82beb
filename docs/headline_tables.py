"""The README's table: a few rows of the operator's benchmark, in English or in Chinese."""

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["table"]

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"

ROWS = {"operator": ("softmax-half", "window-training", "additive-memory", "graph-training-built", "decoding")}
"""By benchmark: the names of the rows that the README shows."""

COLUMNS = ("what", "peer", "ours", "the peer", "ratio")

CHINESE = {
    "what": "计算内容",
    "peer": "对比对象",
    "ours": "regard",
    "the peer": "对比对象的结果",
    "ratio": "比值",
    "softmax(dot), n = 8192, bfloat16, forward": "softmax（点积），n = 8192，bfloat16，前向",
    "window 128, n = 8192, forward + backward": "窗口 128，n = 8192，前向 + 反向",
    "additive, n = 1024, forward + backward: peak memory": "加性打分，n = 1024，前向 + 反向：峰值内存",
    "graph of 20 000 nodes, 400 000 edges, 8 x 8, whole layer, forward + backward; CSR built in the call": (
        "图，20 000 个节点，400 000 条边，8 × 8，整层，前向 + 反向；每次调用都构建 CSR"
    ),
    "decoding with the cache, 2048 steps, layer of width 512": "带缓存的解码，2048 步，宽度为 512 的层",
    "SDPA: no mask": "SDPA：无掩码",
    "SDPA with a mask: boolean mask": "SDPA 加掩码：布尔掩码",
    "broadcast form: einsum": "广播实现：einsum",
    "PyG TransformerConv: torch.compile, edges sorted by target": "PyG TransformerConv：torch.compile，边按终点排序",
    "SDPA on a preallocated cache: the same linears": "SDPA 加预分配的缓存：相同的线性层",
}
"""The Chinese name of each English one. If a benchmark changes a name, `make docs` asks for its Chinese one."""

VERSION = re.compile(r" \(([^()]+)\)$")
INTERVAL = re.compile(r" \((\S+) to (\S+)\)$")


def table(name: str) -> str:
    """The rows of a benchmark and what they were measured with, such as "operator zh".

    Raises:
        SystemExit: a name has no Chinese one, or the benchmark has other columns.
    """
    benchmark, language = name.split()
    result = json.loads((RESULTS / f"{benchmark}.json").read_text(encoding="utf-8"))
    rows = dict(zip(result["details"], result["rows"], strict=True))
    width = len(COLUMNS)
    if tuple(result["columns"][:width]) != COLUMNS:
        raise SystemExit(f"docs: {benchmark}.json begins with the columns {result['columns'][:width]}, not {COLUMNS}")
    lines = [COLUMNS, *(rows[each][:width] for each in ROWS[benchmark])]
    if language == "zh":
        lines = [[chinese(cell) for cell in cells] for cells in lines]
    lines.insert(1, ["---"] * width)
    said = measured_with(benchmark, result, language)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + f"\n\n{said}\n"


def chinese(cell: str) -> str:
    """A cell in Chinese: figures stay as they are, and a version or an interval keeps its numbers."""
    if cell[:1].isdigit():
        return INTERVAL.sub(r"（\1 至 \2）", cell)
    name = VERSION.sub("", cell)
    if name not in CHINESE:
        raise SystemExit(f"docs: {name!r} has no Chinese name in docs/headline_tables.py")
    return CHINESE[name] + VERSION.sub(r"（\1）", cell).removeprefix(name)


def measured_with(benchmark: str, result: dict[str, Any], language: str) -> str:
    """The machine, the versions, the threads and the day; the page of the benchmarks has the other conditions."""
    facts = result["conditions"].rstrip(".").split("; ")
    machine, versions = facts[0], facts[1]
    days = sorted({result["details"][each]["measured"][:10] for each in ROWS[benchmark]})
    day = (" to " if language == "en" else " 至 ").join(dict.fromkeys((days[0], days[-1])))
    (threads,) = (each.removeprefix("threads ") for each in facts if each.startswith("threads "))
    if language == "en":
        return f"Measured on {day}: {machine}, {threads} threads; {versions}."
    machine = re.sub(r", (\d+) cores$", r"，\1 核", machine)
    return f"测量日期 {day}：{machine}，{threads} 个线程；{versions.replace(', ', '，')}。"
