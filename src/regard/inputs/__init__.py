"""Inputs: text, speech, pictures, graphs, molecules and plain vectors, each to one `Batch`."""

from regard.inputs.atom_properties import ATOM_PROPERTIES, atom_properties
from regard.inputs.batch import IGNORED, Batch, pad_labels
from regard.inputs.characters import Characters, Words
from regard.inputs.descriptors import DESCRIPTORS, descriptors
from regard.inputs.embedding import WordEmbedding
from regard.inputs.encoder import WordEncoder
from regard.inputs.features import CASES, WordFeatures, word_shape
from regard.inputs.folding import FOLDS, fold_ascii, fold_nothing, fold_width
from regard.inputs.frames import FEATURES, SpeechFrames
from regard.inputs.graph import Graph, mask_of
from regard.inputs.molecule import ATOM_FEATURES, BONDS, ELEMENTS, MoleculeAtoms, molecule, scaffold
from regard.inputs.one_hot import OneHotWords
from regard.inputs.patches import PictureVectors
from regard.inputs.picture import CHANNELS, picture_size, read_picture
from regard.inputs.profile_tables import read_profiles
from regard.inputs.profiles import Profile, ProfileEncoder
from regard.inputs.script import SCRIPTS, in_script, script_of
from regard.inputs.sentences import as_list, as_sentences
from regard.inputs.sequences import VectorSequences
from regard.inputs.social import from_networkx, read_friendships, read_social, social_graph
from regard.inputs.social_files import is_social_folder, social_files
from regard.inputs.sound import Sound, read_sound, resample, wav, write_sound
from regard.inputs.splitting import (
    is_spaced,
    longest_match,
    split_characters,
    split_chinese,
    split_words,
    with_neighbours,
)
from regard.inputs.standardise import Standardise
from regard.inputs.subwords import Subwords
from regard.inputs.text_bytes import Bytes
from regard.inputs.time_series import read_time_series
from regard.inputs.vector_files import VECTOR_FILES, read_vectors
from regard.inputs.vocabulary import VOCABULARIES, Vocabulary, vocabulary_from_json
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
    "FOLDS",
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
    "descriptors",
    "fold_ascii",
    "fold_nothing",
    "fold_width",
    "from_networkx",
    "in_script",
    "is_social_folder",
    "is_spaced",
    "longest_match",
    "mask_of",
    "molecule",
    "pad_labels",
    "picture_size",
    "read_friendships",
    "read_picture",
    "read_profiles",
    "read_social",
    "read_sound",
    "read_time_series",
    "read_vectors",
    "resample",
    "scaffold",
    "script_of",
    "social_files",
    "social_graph",
    "split_characters",
    "split_chinese",
    "split_words",
    "vocabulary_from_json",
    "wav",
    "with_neighbours",
    "word_shape",
    "write_sound",
]
