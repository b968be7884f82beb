"""The table of text models, from runs made up here."""

import pytest


@pytest.fixture(scope="module")
def tables(docs_module):
    return docs_module("text_model_tables")


def run(way: str, score: float, **more):
    return {
        "set": "custrev",
        "size": "400",
        "way": way,
        "judged": "test",
        "train": 400,
        "score": score,
        "cpu_minutes": 1.26,
        "megabytes": 46.96,
        "texts_a_second": 1234.5,
        "conditions": "an abacus; Python 3, torch 2; 2026-11-29.",
        **more,
    }


def test_a_row_is_a_mean_over_seeds(tables):
    lines = [run("base", 0.8), run("base", 0.9, cpu_minutes=3.0), run("base", 0.1, judged="dev"), run("tf-idf", 0.7)]
    said = tables.table(lines).splitlines()
    assert said[2:4] == [
        "| customer reviews, 400 | 400 | pretrained base | 85.0 % | 80.0 to 90.0 | 2 | 2.1 | 47.0 | 1,234 |",
        "| customer reviews, 400 | 400 | tf-idf, logistic regression | 70.0 % |  | 1 | 1.3 | 47.0 | 1,234 |",
    ]
    assert said[-1] == "an abacus; Python 3, torch 2. Every run: benchmarks/results/text_models.jsonl."


def test_a_tagger_has_another_baseline(tables):
    said = tables.table([run("tf-idf", 0.7, set="ewt", size="all")])
    assert "| English parts of speech (EWT) | 400 | most frequent label of a word |" in said


def test_nothing_measured_is_said(tables):
    assert tables.table([run("base", 0.5, judged="dev")]).startswith("Not measured yet")
