"""Inputs: text, speech, pictures, graphs, molecules and plain vectors, each turned into a `Batch`."""

import typing

from regard import lazy

if typing.TYPE_CHECKING:
    from regard.inputs.batch import IGNORED, Batch, pad_labels
    from regard.inputs.fixed_convolutions import FixedConvolutions
    from regard.inputs.graph.descriptors import ATOM_PROPERTIES, DESCRIPTORS, atom_properties, descriptors
    from regard.inputs.graph.graph import Graph, edges_mask
    from regard.inputs.graph.molecule import ATOM_FEATURES, BONDS, ELEMENTS, MoleculeAtoms, molecule, scaffold
    from regard.inputs.graph.profile_encoder import Profile, ProfileEncoder
    from regard.inputs.graph.profile_tables import read_profiles
    from regard.inputs.graph.social_graph import (
        from_networkx,
        graph_files,
        is_graph_folder,
        read_edge_list,
        read_social_graph,
        social_graph,
    )
    from regard.inputs.graph.whole import fingerprint, graph_counts
    from regard.inputs.item_statistics import item_statistics
    from regard.inputs.patches import PictureVectors
    from regard.inputs.picture import CHANNELS, picture_size, read_picture
    from regard.inputs.sound.sound import Sound, read_sound, resample, wav, write_sound
    from regard.inputs.sound.speech_frames import FEATURES, SpeechFrames
    from regard.inputs.standardise import Standardise
    from regard.inputs.text.character_folding import FOLDINGS, fold_ascii, fold_nothing, fold_width
    from regard.inputs.text.one_hot import OneHotWords
    from regard.inputs.text.pretrained_tokenizer import TOKENIZER_FILES, PretrainedTokenizer
    from regard.inputs.text.script import SCRIPTS, convert_script, detect_script
    from regard.inputs.text.sentences import as_list, as_sentences
    from regard.inputs.text.subwords import Subwords
    from regard.inputs.text.tokenisation import (
        is_spaced,
        longest_match,
        split_characters,
        split_chinese,
        split_words,
        trigrams,
    )
    from regard.inputs.text.vocabulary import VOCABULARIES, Bytes, Characters, Vocabulary, Words, vocabulary_from_json
    from regard.inputs.text.word_embedding import WordEmbedding
    from regard.inputs.text.word_encoder import WordEncoder
    from regard.inputs.text.word_features import CASES, WordFeatures, word_shape
    from regard.inputs.text.word_vectors import WordVectors
    from regard.inputs.time_series import read_time_series
    from regard.inputs.vector_files import VECTOR_FILES, read_vectors
    from regard.inputs.vector_sequences import VectorSequences

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
    "TOKENIZER_FILES",
    "VECTOR_FILES",
    "VOCABULARIES",
    "Batch",
    "Bytes",
    "Characters",
    "FixedConvolutions",
    "Graph",
    "MoleculeAtoms",
    "OneHotWords",
    "PictureVectors",
    "PretrainedTokenizer",
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
    "fingerprint",
    "fold_ascii",
    "fold_nothing",
    "fold_width",
    "from_networkx",
    "graph_counts",
    "graph_files",
    "is_graph_folder",
    "is_spaced",
    "item_statistics",
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

lazy.export(
    __name__,
    {
        "batch": "IGNORED Batch pad_labels",
        "fixed_convolutions": "FixedConvolutions",
        "graph.descriptors": "ATOM_PROPERTIES DESCRIPTORS atom_properties descriptors",
        "graph.graph": "Graph edges_mask",
        "graph.molecule": "ATOM_FEATURES BONDS ELEMENTS MoleculeAtoms molecule scaffold",
        "graph.profile_encoder": "Profile ProfileEncoder",
        "graph.profile_tables": "read_profiles",
        "graph.social_graph": "from_networkx graph_files is_graph_folder read_edge_list read_social_graph social_graph",
        "graph.whole": "fingerprint graph_counts",
        "item_statistics": "item_statistics",
        "patches": "PictureVectors",
        "picture": "CHANNELS picture_size read_picture",
        "sound.sound": "Sound read_sound resample wav write_sound",
        "sound.speech_frames": "FEATURES SpeechFrames",
        "standardise": "Standardise",
        "text.character_folding": "FOLDINGS fold_ascii fold_nothing fold_width",
        "text.one_hot": "OneHotWords",
        "text.pretrained_tokenizer": "TOKENIZER_FILES PretrainedTokenizer",
        "text.script": "SCRIPTS convert_script detect_script",
        "text.sentences": "as_list as_sentences",
        "text.subwords": "Subwords",
        "text.tokenisation": "is_spaced longest_match split_characters split_chinese split_words trigrams",
        "text.vocabulary": "VOCABULARIES Bytes Characters Vocabulary Words vocabulary_from_json",
        "text.word_embedding": "WordEmbedding",
        "text.word_encoder": "WordEncoder",
        "text.word_features": "CASES WordFeatures word_shape",
        "text.word_vectors": "WordVectors",
        "time_series": "read_time_series",
        "vector_files": "VECTOR_FILES read_vectors",
        "vector_sequences": "VectorSequences",
    },
)
