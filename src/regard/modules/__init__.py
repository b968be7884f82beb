"""Modules built on attention, and the other architectures that they are compared with."""

import typing

from regard import lazy
from regard.attention.masks import Pairs

if typing.TYPE_CHECKING:
    from regard.modules.alignment import monotonic_alignment
    from regard.modules.attention import MultiHeadAttention
    from regard.modules.cache import Cache
    from regard.modules.efficient import (
        APPROXIMATIONS,
        Approximation,
        BigBird,
        LinearAttention,
        LinformerAttention,
        Longformer,
        NystromAttention,
        PerformerAttention,
        ReformerAttention,
        SinkhornAttention,
        Strided,
        SynthesizerAttention,
    )
    from regard.modules.encoder import Encoder, EncoderLayer
    from regard.modules.extra_keys import ExtraKeys
    from regard.modules.graph_attention import GraphAttentionEncoder, GraphAttentionLayer
    from regard.modules.guide import Guide
    from regard.modules.make_part import PerLayer
    from regard.modules.networks import (
        NETWORKS,
        AttentionNetwork,
        BidirectionalNetwork,
        ConnectedNetwork,
        ConvolutionNetwork,
        GraphAttentionNetwork,
        IdentityNetwork,
        Network,
        RecurrentNetwork,
        WindowNetwork,
        build_network,
    )
    from regard.modules.pooling import (
        POOLINGS,
        AttentionPooling,
        ClassVector,
        MaxPooling,
        MeanPooling,
        NormalisedMeanPooling,
        Pooling,
        SumPooling,
    )
    from regard.modules.projections import Projections
    from regard.modules.pytorch_masks import torch_masks
    from regard.modules.seq2seq.copying import CopyHead
    from regard.modules.seq2seq.ctc import CTCHead
    from regard.modules.seq2seq.decoder import Decoder, DecoderLayer
    from regard.modules.seq2seq.duration_plan import DurationPlan, DurationPredictor
    from regard.modules.seq2seq.frame_seq2seq import FrameSeq2Seq, GeneratedFrames, generate_frames
    from regard.modules.seq2seq.generation import Generated, beam_search, greedy
    from regard.modules.seq2seq.generation_config import GenerationConfig
    from regard.modules.seq2seq.recurrent_seq2seq import AttentionSeq2Seq, RecurrentSeq2Seq
    from regard.modules.seq2seq.rescoring import rescore
    from regard.modules.seq2seq.seq2seq import Memory, ScaledEmbedding, Seq2Seq
    from regard.modules.seq2seq.transformer_seq2seq import TransformerSeq2Seq
    from regard.modules.vision.boxes import box_corners, generalised_iou, iou
    from regard.modules.vision.convolution_attention import ConvolutionAttention
    from regard.modules.vision.object_queries import BoxHead, ObjectQueries
    from regard.modules.vision.pictures import ChannelAttention, GridPositions, to_picture, to_vectors
    from regard.modules.vision.self_attention_2d import SelfAttention2d
    from regard.modules.vision.set_matching import Matches, Objects, SetLoss, match_sets

__all__ = [
    "APPROXIMATIONS",
    "NETWORKS",
    "POOLINGS",
    "Approximation",
    "AttentionNetwork",
    "AttentionPooling",
    "AttentionSeq2Seq",
    "BidirectionalNetwork",
    "BigBird",
    "BoxHead",
    "CTCHead",
    "Cache",
    "ChannelAttention",
    "ClassVector",
    "ConnectedNetwork",
    "ConvolutionAttention",
    "ConvolutionNetwork",
    "CopyHead",
    "Decoder",
    "DecoderLayer",
    "DurationPlan",
    "DurationPredictor",
    "Encoder",
    "EncoderLayer",
    "ExtraKeys",
    "FrameSeq2Seq",
    "Generated",
    "GeneratedFrames",
    "GenerationConfig",
    "GraphAttentionEncoder",
    "GraphAttentionLayer",
    "GraphAttentionNetwork",
    "GridPositions",
    "Guide",
    "IdentityNetwork",
    "LinearAttention",
    "LinformerAttention",
    "Longformer",
    "Matches",
    "MaxPooling",
    "MeanPooling",
    "Memory",
    "MultiHeadAttention",
    "Network",
    "NormalisedMeanPooling",
    "NystromAttention",
    "ObjectQueries",
    "Objects",
    "Pairs",
    "PerLayer",
    "PerformerAttention",
    "Pooling",
    "Projections",
    "RecurrentNetwork",
    "RecurrentSeq2Seq",
    "ReformerAttention",
    "ScaledEmbedding",
    "SelfAttention2d",
    "Seq2Seq",
    "SetLoss",
    "SinkhornAttention",
    "Strided",
    "SumPooling",
    "SynthesizerAttention",
    "TransformerSeq2Seq",
    "WindowNetwork",
    "beam_search",
    "box_corners",
    "build_network",
    "generalised_iou",
    "generate_frames",
    "greedy",
    "iou",
    "match_sets",
    "monotonic_alignment",
    "rescore",
    "to_picture",
    "to_vectors",
    "torch_masks",
]

lazy.export(
    __name__,
    {
        "alignment": "monotonic_alignment",
        "attention": "MultiHeadAttention",
        "cache": "Cache",
        "efficient": (
            "APPROXIMATIONS Approximation BigBird LinearAttention LinformerAttention Longformer "
            "NystromAttention PerformerAttention ReformerAttention SinkhornAttention Strided SynthesizerAttention"
        ),
        "encoder": "Encoder EncoderLayer",
        "extra_keys": "ExtraKeys",
        "graph_attention": "GraphAttentionEncoder GraphAttentionLayer",
        "guide": "Guide",
        "make_part": "PerLayer",
        "networks": (
            "NETWORKS AttentionNetwork BidirectionalNetwork ConnectedNetwork ConvolutionNetwork "
            "GraphAttentionNetwork IdentityNetwork Network RecurrentNetwork WindowNetwork build_network"
        ),
        "pooling": (
            "POOLINGS AttentionPooling ClassVector MaxPooling MeanPooling NormalisedMeanPooling Pooling SumPooling"
        ),
        "projections": "Projections",
        "pytorch_masks": "torch_masks",
        "seq2seq.copying": "CopyHead",
        "seq2seq.ctc": "CTCHead",
        "seq2seq.decoder": "Decoder DecoderLayer",
        "seq2seq.duration_plan": "DurationPlan DurationPredictor",
        "seq2seq.frame_seq2seq": "FrameSeq2Seq GeneratedFrames generate_frames",
        "seq2seq.generation": "Generated beam_search greedy",
        "seq2seq.generation_config": "GenerationConfig",
        "seq2seq.recurrent_seq2seq": "AttentionSeq2Seq RecurrentSeq2Seq",
        "seq2seq.rescoring": "rescore",
        "seq2seq.seq2seq": "Memory ScaledEmbedding Seq2Seq",
        "seq2seq.transformer_seq2seq": "TransformerSeq2Seq",
        "vision.boxes": "box_corners generalised_iou iou",
        "vision.convolution_attention": "ConvolutionAttention",
        "vision.object_queries": "BoxHead ObjectQueries",
        "vision.pictures": "ChannelAttention GridPositions to_picture to_vectors",
        "vision.self_attention_2d": "SelfAttention2d",
        "vision.set_matching": "Matches Objects SetLoss match_sets",
    },
)
