"""How an exported model is used from Python and from JavaScript, as programs of about ten lines."""

import json
from collections.abc import Sequence
from typing import Any

from regard.tasks.exporting.file_names import description_name
from regard.tasks.exporting.traced import Traced

__all__ = ["javascript_usage", "python_usage"]


def python_usage(description: dict[str, Any], traced: Traced, example: str) -> str:
    """A program in Python that predicts for a source with onnxruntime and NumPy.

    Args:
        description: the description of the file.
        traced: what was exported.
        example: a source, as Python.
    """
    file, encoder, output = (description[name] for name in ("file", "encoder_file", "output"))
    imports = ["json", *(["runpy"] if encoder else [])]
    encoding = (
        [f'encode = runpy.run_path("{encoder}")["encode"]', f"inputs = encode(description, [{example}])"]
        if encoder
        else [
            "# Only regard encodes such sources; np.savez and np.load carry the inputs elsewhere.",
            f'inputs = regard.tasks.inputs_of(regard.load("{description["model"]["name"]}"), [{example}])',
        ]
    )
    lines = [
        *(f"import {name}" for name in imports),
        "",
        "import numpy as np",
        "import onnxruntime",
        *([] if encoder else ["import regard.tasks"]),
        "",
        f'description = json.load(open("{description_name(file["name"])}", encoding="utf-8"))',
        f'session = onnxruntime.InferenceSession("{file["name"]}")',
        *encoding,
        f"({output['name']},) = session.run(None, inputs)",
        'labels = np.array(description["labels"])',
    ]
    if "length" in traced.axes:
        lines += [f'for length, row in zip(inputs["lengths"], {output["name"]}):', "    row = row[:length]"]
    else:
        lines += [f"for row in {output['name']}:"]
    return "\n".join([*lines, f"    print({traced.shown})"]) + "\n"


def javascript_usage(description: dict[str, Any]) -> str:
    """A program in JavaScript that runs the file with onnxruntime-web, on inputs that are given."""
    file, output = description["file"]["name"], description["output"]["name"]
    tensors = []
    for each in description["inputs"]:
        flat = f"inputs.{each['name']}.flat(Infinity)"
        data = {
            "int64": f"BigInt64Array.from({flat}, BigInt)",
            "float32": f"Float32Array.from({flat})",
            "bool": f"Uint8Array.from({flat})",
        }[each["type"]]
        dims = json.dumps(each["shape"]).replace('"', "")
        tensors.append(f'  {each["name"]}: new ort.Tensor("{each["type"]}", {data}, {dims}),')
    return (
        "\n".join(
            [
                'import * as ort from "onnxruntime-web";',
                "",
                f'const description = await (await fetch("{description_name(file)}")).json();',
                f'const session = await ort.InferenceSession.create("{file}");',
                "// Nested lists of numbers, which description.encoding says how to compute.",
                'const inputs = await (await fetch("inputs.json")).json();',
                _sizes(description["inputs"]),
                f"const {{ {output} }} = await session.run({{",
                *tensors,
                "});",
                f"console.log({output}.dims, {output}.data, description.labels);",
            ]
        )
        + "\n"
    )


def _sizes(inputs: Sequence[dict[str, Any]]) -> str:
    """The sizes of the axes that vary, read from the nested lists."""
    found: dict[str, str] = {}
    for each in inputs:
        for depth, axis in enumerate(each["shape"]):
            if isinstance(axis, str):
                found.setdefault(axis, f"inputs.{each['name']}{'[0]' * depth}.length")
    return f"const {', '.join(f'{name} = {size}' for name, size in found.items())};"
