"""Inputs: text (later speech, pictures, graphs) to one `Batch`."""

from regard.inputs.batch import IGNORED, Batch, pad_labels
from regard.inputs.embedding import WordEmbedding
from regard.inputs.encoder import WordEncoder
from regard.inputs.features import CASES, WordFeatures, word_shape
from regard.inputs.folding import FOLDS, fold_ascii, fold_nothing, fold_width
from regard.inputs.one_hot import OneHotWords
from regard.inputs.sentences import as_list, as_sentences
from regard.inputs.splitting import longest_match, split_characters, split_chinese, split_words

__all__ = [
    "CASES",
    "FOLDS",
    "IGNORED",
    "Batch",
    "OneHotWords",
    "WordEmbedding",
    "WordEncoder",
    "WordFeatures",
    "as_list",
    "as_sentences",
    "fold_ascii",
    "fold_nothing",
    "fold_width",
    "longest_match",
    "pad_labels",
    "split_characters",
    "split_chinese",
    "split_words",
    "word_shape",
]
