"""Modules made of attention."""

from regard.modules.attention import MultiHeadAttention, Observation, ObserverHandle
from regard.modules.encoder import Encoder, EncoderLayer

__all__ = ["Encoder", "EncoderLayer", "MultiHeadAttention", "Observation", "ObserverHandle"]
