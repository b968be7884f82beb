"""Modules made of attention."""

from regard.modules.attention import MultiHeadAttention, Observation, ObserverHandle
from regard.modules.cache import Cache
from regard.modules.encoder import Encoder, EncoderLayer
from regard.modules.extra_keys import ExtraKeys
from regard.modules.pairs import Pairs, torch_masks
from regard.modules.pictures import ChannelAttention, to_picture, to_vectors

__all__ = [
    "Cache",
    "ChannelAttention",
    "Encoder",
    "EncoderLayer",
    "ExtraKeys",
    "MultiHeadAttention",
    "Observation",
    "ObserverHandle",
    "Pairs",
    "to_picture",
    "to_vectors",
    "torch_masks",
]
