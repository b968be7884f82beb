"""Inputs: text, speech, pictures, graphs, molecules and plain vectors, each turned into a `Batch`."""

from regard.inputs.batch import IGNORED, Batch, pad_labels
from regard.inputs.character_folding import FOLDINGS, fold_ascii, fold_nothing, fold_width
from regard.inputs.characters import Characters, Words
from regard.inputs.descriptors import ATOM_PROPERTIES, DESCRIPTORS, atom_properties, descriptors
from regard.inputs.graph import Graph, edges_mask
from regard.inputs.graph_files import graph_files, is_graph_folder
from regard.inputs.molecule import ATOM_FEATURES, BONDS, ELEMENTS, MoleculeAtoms, molecule, scaffold
from regard.inputs.one_hot import OneHotWords
from regard.inputs.patches import PictureVectors
from regard.inputs.picture import CHANNELS, picture_size, read_picture
from regard.inputs.profile_encoder import Profile, ProfileEncoder
from regard.inputs.profile_tables import read_profiles
from regard.inputs.script import SCRIPTS, convert_script, detect_script
from regard.inputs.sentences import as_list, as_sentences
from regard.inputs.social_graph import from_networkx, read_edge_list, read_social_graph, social_graph
from regard.inputs.sound import Sound, read_sound, resample, wav, write_sound
from regard.inputs.speech_frames import FEATURES, SpeechFrames
from regard.inputs.standardise import Standardise
from regard.inputs.subwords import Subwords
from regard.inputs.text_bytes import Bytes
from regard.inputs.time_series import read_time_series
from regard.inputs.tokenisation import (
    is_spaced,
    longest_match,
    split_characters,
    split_chinese,
    split_words,
    trigrams,
)
from regard.inputs.vector_files import VECTOR_FILES, read_vectors
from regard.inputs.vector_sequences import VectorSequences
from regard.inputs.vocabulary import VOCABULARIES, Vocabulary, vocabulary_from_json
from regard.inputs.word_embedding import WordEmbedding
from regard.inputs.word_encoder import WordEncoder
from regard.inputs.word_features import CASES, WordFeatures, word_shape
from regard.inputs.word_vectors import WordVectors

__all__ = [
    "ATOM_FEATURES",
    "ATOM_PROPERTIES",
    "BONDS",
    "CASES",
    "CHANNELS",
    "DESCRIPTORS",
    "ELEMENTS",
    "FEATURES",
    "FOLDINGS",
    "IGNORED",
    "SCRIPTS",
    "VECTOR_FILES",
    "VOCABULARIES",
    "Batch",
    "Bytes",
    "Characters",
    "Graph",
    "MoleculeAtoms",
    "OneHotWords",
    "PictureVectors",
    "Profile",
    "ProfileEncoder",
    "Sound",
    "SpeechFrames",
    "Standardise",
    "Subwords",
    "VectorSequences",
    "Vocabulary",
    "WordEmbedding",
    "WordEncoder",
    "WordFeatures",
    "WordVectors",
    "Words",
    "as_list",
    "as_sentences",
    "atom_properties",
    "convert_script",
    "descriptors",
    "detect_script",
    "edges_mask",
    "fold_ascii",
    "fold_nothing",
    "fold_width",
    "from_networkx",
    "graph_files",
    "is_graph_folder",
    "is_spaced",
    "longest_match",
    "molecule",
    "pad_labels",
    "picture_size",
    "read_edge_list",
    "read_picture",
    "read_profiles",
    "read_social_graph",
    "read_sound",
    "read_time_series",
    "read_vectors",
    "resample",
    "scaffold",
    "social_graph",
    "split_characters",
    "split_chinese",
    "split_words",
    "trigrams",
    "vocabulary_from_json",
    "wav",
    "word_shape",
    "write_sound",
]
