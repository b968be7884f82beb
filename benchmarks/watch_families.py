"""What watching sees in the families of transformers: small models with random weights, eager and with sdpa.

    python benchmarks/watch_families.py                    # those that the results don't have yet; 20 minutes for all
    python benchmarks/watch_families.py bert cvt           # these again
    python benchmarks/watch_families.py --seconds 240      # ends after so long; the next call goes on
    python benchmarks/watch_families.py --table            # a summary of the results

Each family is run twice, watched and not, in a process that is ended if it takes too long. Modules of attention are
the innermost ones whose classes are called so; those that don't run with the inputs that were found are left out. A
family is

- whole: each module of attention that runs is in the record, the outputs are equal, and the record's own check holds;
- told: a warning names what isn't in the record, such as linear attention, which has no weights of pairs;
- missed: something isn't in the record, and nothing says so;
- without attention: no module of attention runs, and none is in the record.

`effective` counts the state-space layers whose effective weights are in the record; they change no count of families.

`weights` is the largest difference between the matrices that an eager model gives by `output_attentions` and those of
the record. A family that can't be built small, or whose inputs weren't found, is counted apart, with the error.
"""

import argparse
import json
import os
import platform
import re
import selectors
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "watch_families.json"
IMPLEMENTATIONS = ("eager", "sdpa")
LONGEST = 40.0
MEMORY = 4 << 30

# What can't be told from the names of the fields: values of the configuration.
_SERIES = {"prediction_length": 4, "context_length": 16}
_MAMBA = {"mamba_n_heads": 8, "mamba_d_head": 16}
_WINDOWS = {"image_size": 128, "patch_size": 4, "window_size": 4}
_SECTIONS = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}}
OWN: dict[str, dict[str, Any]] = {
    "autoformer": _SERIES,
    "bamba": {"attn_layer_indices": [1], **_MAMBA},
    "cvt": {"depth": [1, 2, 3]},
    "deepseek_v2": {"num_experts_per_tok": 2, "topk_method": "greedy"},
    "donut-swin": _WINDOWS,
    "esm": {"vocab_size": 128, "pad_token_id": 1, "mask_token_id": 2},
    "falcon_h1": {"mamba_d_ssm": 128, **_MAMBA},
    "glm46v": {"text_config": _SECTIONS},
    "glm4v": {"text_config": _SECTIONS},
    "glm4v_moe": {"text_config": _SECTIONS},
    "glm4v_moe_text": _SECTIONS,
    "glm4v_text": _SECTIONS,
    "glm_image_text": _SECTIONS,
    "glm_ocr": {"text_config": _SECTIONS},
    "glm_ocr_text": _SECTIONS,
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"], **_MAMBA},
    "informer": _SERIES,
    "led": {"attention_window": 4},
    "mamba2": {"num_heads": 8, "head_dim": 16},
    "mask2former": {"backbone_config": _WINDOWS},
    "nemotron": {"num_key_value_heads": 2},
    "reformer": {"axial_pos_embds": False},
    "swin": _WINDOWS,
    "swinv2": _WINDOWS,
    "time_series_transformer": _SERIES,
    "xlnet": {"d_head": 16},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
}


def measured(family: str, implementation: str) -> dict[str, Any]:
    """What watching sees of a family: the row of the table."""
    import torch
    from random_models import NotBuilt, NotRun, attention_modules, running

    import regard
    from regard.inspection.capture.watch import NothingSeen, PartlySeen

    try:
        model, given = running(family, implementation, OWN.get(family, {}))
    except NotBuilt as error:
        return {"status": "not built", "why": str(error)[:600]}
    except NotRun as error:
        return {"status": "not run", "why": str(error)[:600]}
    present, ran = attention_modules(model), set()
    handles = [
        model.get_submodule(name).register_forward_pre_hook(lambda *_, name=name: ran.add(name)) for name in present
    ]
    try:
        with torch.no_grad():
            torch.manual_seed(0)
            plain = model(**given)
    except Exception as error:
        return {"status": "not run", "why": f"not twice: {type(error).__name__}: {error}"[:600]}
    for each in handles:
        each.remove()
    with torch.no_grad(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with regard.watch(model) as seen:
            torch.manual_seed(0)
            output = model(**given)
    # State-space layers have no attention; their effective weights are counted apart.
    attention = [layer for layer in seen if not layer.is_effective]
    names = {layer.name for layer in attention}
    # Attention may have a part that is called so, too, such as a gate: then the whole counts.
    ran = {next((each for each in names if name.startswith(f"{each}.")), name) for name in ran}
    unseen = sorted(name for name in ran if not any(f"{each}.".startswith(f"{name}.") for each in names))
    said = [
        f"{each.category.__name__}: {each.message}"
        for each in told
        if issubclass(each.category, regard.errors.RecordWarning)
    ]
    by_class = {name: type(model.get_submodule(name)).__name__ for name in unseen}
    about = " ".join(str(each.message) for each in told if issubclass(each.category, NothingSeen | PartlySeen))
    silent = sorted({kind for name, kind in by_class.items() if name not in about and kind not in about})
    changed = difference(tensors(plain), tensors(output))
    verified = max((each for each in seen.verify().values() if each is not None), default=0.0) if seen.layers else None
    differs = any(each.startswith("RecordDiffers") for each in said)
    if silent or differs or changed:
        status = "missed"
    elif unseen or (about and attention):
        status = "told"
    else:
        status = "whole" if ran or attention else "without attention"
    return {
        "status": status,
        "present": len(present),
        "ran": len(ran),
        "seen": len(ran) - len(unseen),
        "calls": len(attention),
        "effective": len(seen) - len(attention),
        "outputs": changed,
        "verified": verified,
        "weights": own_weights(model, given, seen) if implementation == "eager" else None,
        "unseen": sorted(set(by_class.values())),
        "silent": silent,
        "notes": sorted({note for layer in seen for note in layer.notes}),
        "warnings": said,
        "inputs": {name: list(each.shape) for name, each in given.items() if hasattr(each, "shape")},
    }


def tensors(output: Any) -> list[Any]:
    """The tensors of numbers in an output, in their order."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output] if output.is_floating_point() else []
    if isinstance(output, dict):
        output = list(output.values())
    return [found for each in output for found in tensors(each)] if isinstance(output, list | tuple) else []


def difference(first: list[Any], second: list[Any]) -> float:
    """The largest difference; numbers that aren't finite must stand in the same places."""
    import torch

    if [each.shape for each in first] != [each.shape for each in second]:
        return float("inf")
    worst = 0.0
    for one, other in zip(first, second, strict=True):
        if not torch.equal(one.isfinite(), other.isfinite()):
            return float("inf")
        worst = max(worst, float((one - other).nan_to_num(0, 0, 0).abs().max()) if one.numel() else 0.0)
    return worst


def own_weights(model: Any, given: dict[str, Any], seen: Any) -> float | None:
    """How far the nearest matrix of the record is from each that the model gives itself; None if it gives none.

    Some models give scores in place of weights, or an average of the heads; these are left out.
    """
    import torch

    try:
        with torch.no_grad():
            torch.manual_seed(0)
            output = model(**given, output_attentions=True)
    except Exception:
        return None
    names = [each for each in output if "attentions" in each] if isinstance(output, dict) else []
    own = [each for name in names for each in tensors(output[name]) if each.ndim == 4 and are_of_heads(each)]
    recorded = [layer.weights() for layer in seen]
    worst: float | None = None
    for each in own:
        alike = [other for other in recorded if other.shape == each.shape]
        nearest = min((difference([each], [other]) for other in alike), default=None)
        worst = worst if nearest is None else max(worst or 0.0, nearest)
    return worst


def are_of_heads(table: Any) -> bool:
    """Whether a table is of weights, which sum to 1 or less, and not an average of the heads."""
    are_weights = bool((table >= 0).all() and (table.sum(-1) < 1.001).all())
    return are_weights and (table.shape[1] == 1 or bool((table[:, :1] != table).any()))


def work() -> None:
    """Answer each line of the input, a family and an implementation, by a line of JSON."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        try:
            row = measured(*line.split())
        except Exception as error:
            row = {"status": "failed", "why": f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]}
        print(json.dumps(row), file=answers, flush=True)


class Worker:
    """A process that measures families, and is begun anew where one takes too long or ends it."""

    def __init__(self) -> None:
        self._process: Any = None

    def measure(self, family: str, implementation: str) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, __file__, "--work"]
            environment = {**os.environ, "TRANSFORMERS_VERBOSITY": "critical", "HF_HUB_OFFLINE": "1"}
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
            )
        self._process.stdin.write(f"{family} {implementation}\n".encode())
        self._process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            ready = selector.select(LONGEST)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            self.end()
            return {"status": "not run", "why": "it took too long" if not ready else "its process ended"}
        return json.loads(line)

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def run(chosen: list[str], seconds: float) -> None:
    from random_models import families

    held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"rows": {}}
    rows, begin, worker = held["rows"], time.monotonic(), Worker()
    wanted = [f"{family} {each}" for family in chosen or families() for each in IMPLEMENTATIONS]
    for name in wanted:
        if name in rows and not chosen:
            continue
        if time.monotonic() - begin > seconds:
            print(f"Stopped after {seconds:g} seconds; the next call goes on.")
            break
        rows[name] = worker.measure(*name.split())
        print(f"{name:<40}{said(rows[name])}", flush=True)
    worker.end()
    RESULTS.write_text(json.dumps({**conditions(), "rows": dict(sorted(rows.items()))}, indent=1) + "\n", "utf-8")


def conditions() -> dict[str, Any]:
    import importlib.metadata

    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
    return {"versions": versions, "machine": platform.machine(), "python": platform.python_version(), "seed": 0}


def said(row: dict[str, Any]) -> str:
    if "why" in row:
        return f"{row['status']:<18}{row['why'][:110]}"
    figures = f"{row['seen']} of {row['ran']} ({row['present']})"
    numbers = " ".join("-" if row[name] is None else f"{row[name]:.0e}" for name in ("outputs", "verified", "weights"))
    return f"{row['status']:<18}{figures:<14}{numbers:<22}{' '.join(row['silent'] or row['unseen'])}"


def table() -> None:
    held = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = held["rows"]
    print(f"transformers {held['versions']['transformers']}, torch {held['versions']['torch']}")
    for implementation in IMPLEMENTATIONS:
        own = {name.split()[0]: row for name, row in rows.items() if name.endswith(f" {implementation}")}
        print(f"\n{implementation}: {len(own)} families")
        counts = Counter(row["status"] for row in own.values())
        with_attention = sum(counts[each] for each in ("whole", "told", "missed"))
        for status, count in counts.most_common():
            share = (
                f"{count / with_attention:.1%} of those with attention" if status in ("whole", "told", "missed") else ""
            )
            print(f"  {status:<20}{count:>4}  {share}")
        effective = sum(bool(row.get("effective")) for row in own.values())
        print(f"  effective weights of state-space layers in {effective}")
        for status in ("missed", "told", "failed"):
            for name, row in own.items():
                if row["status"] == status:
                    print(f"    {name:<36}{said(row)}")
    reasons = Counter(re.sub(r"\d+", "N", row["why"])[:70] for row in rows.values() if "why" in row)
    print("\nwhy not built or run, most often:")
    for why, count in reasons.most_common(12):
        print(f"  {count:>4}  {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", help="default: all that the results don't have yet")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no other family after so long")
    parser.add_argument("--table", action="store_true", help="a summary of the results")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
    elif options.table:
        table()
    else:
        run(options.families, options.seconds)


if __name__ == "__main__":
    main()
