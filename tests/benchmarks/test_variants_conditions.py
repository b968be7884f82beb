"""The benchmark of the variants of attention says on which machine and version each row was measured."""

import json


def test_rows_that_were_measured_earlier_keep_their_conditions(benchmark_module, tmp_path, monkeypatch):
    module = benchmark_module("variants")
    for each in ("variants", "measuring"):
        monkeypatch.setattr(benchmark_module(each), "RESULTS", tmp_path)
    row = {"memory": 3.0}
    monkeypatch.setattr(module, "measured", lambda *_: {"4096": dict(row)})
    monkeypatch.setattr(module, "misses", lambda known: [])

    def run(conditions, *words):
        monkeypatch.setattr(module, "conditions", lambda *_, **__: conditions)
        assert module.main([*words]) == 0
        return json.loads((tmp_path / "variants.json").read_text(encoding="utf-8"))

    assert run("Old machine.")["conditions"] == "Old machine."
    row["memory"] = 5.0
    found = run("New machine.", "--only", "performer")
    assert found["found"]["performer"] == {"4096": {"memory": 5.0}, "conditions": "New machine."}
    assert found["found"]["linformer"] == {"4096": {"memory": 3.0}, "conditions": "Old machine."}
    *first, last = found["conditions"].removesuffix(" New machine.").split("Old machine. ")
    assert (len(first), last) == (1, "performer:")
    assert "linformer" in first[0]
    assert "performer" not in first[0]
