"""Tasks: from data to a trained, saved, usable model.

A tagger predicts for each item of a source, a classifier for the whole of it; a seq2seq model writes a text, and a
synthesizer says a sound.
"""

import typing

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.tasks.classifier.model import Classifier
    from regard.tasks.defaults import default_recipe
    from regard.tasks.experiment import Experiment, Trained
    from regard.tasks.exporting.export import Exported, export_onnx, inputs_of
    from regard.tasks.judging.evaluation import Evaluation, LabelScore
    from regard.tasks.named_recipes import NAMED_RECIPES, RECIPES, NamedRecipe, recipe_for
    from regard.tasks.prediction import Prediction
    from regard.tasks.readers import read_splits
    from regard.tasks.recipe import Recipe
    from regard.tasks.registry import TASKS
    from regard.tasks.saving.loading import bundled, load
    from regard.tasks.seq2seq.generation import GeneratedText
    from regard.tasks.seq2seq.model import Seq2SeqModel
    from regard.tasks.splits import Splits
    from regard.tasks.synthesis.model import SynthesizedSpeech, Synthesizer
    from regard.tasks.tagger.model import TaggedWord, Tagger
    from regard.tasks.task import Task
    from regard.tasks.training.train import train

__all__ = [
    "NAMED_RECIPES",
    "RECIPES",
    "TASKS",
    "Classifier",
    "Evaluation",
    "Experiment",
    "Exported",
    "GeneratedText",
    "LabelScore",
    "NamedRecipe",
    "Prediction",
    "Recipe",
    "Seq2SeqModel",
    "Splits",
    "SynthesizedSpeech",
    "Synthesizer",
    "TaggedWord",
    "Tagger",
    "Task",
    "Trained",
    "bundled",
    "default_recipe",
    "export_onnx",
    "inputs_of",
    "load",
    "read_splits",
    "recipe_for",
    "train",
]

lazy.export(
    __name__,
    {
        "classifier.model": "Classifier",
        "defaults": "default_recipe",
        "experiment": "Experiment Trained",
        "exporting.export": "Exported export_onnx inputs_of",
        "judging.evaluation": "Evaluation LabelScore",
        "named_recipes": "NAMED_RECIPES RECIPES NamedRecipe recipe_for",
        "prediction": "Prediction",
        "readers": "read_splits",
        "recipe": "Recipe",
        "registry": "TASKS",
        "saving.loading": "bundled load",
        "seq2seq.generation": "GeneratedText",
        "seq2seq.model": "Seq2SeqModel",
        "splits": "Splits",
        "synthesis.model": "SynthesizedSpeech Synthesizer",
        "tagger.model": "TaggedWord Tagger",
        "task": "Task",
        "training.train": "train",
    },
)
