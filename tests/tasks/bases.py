"""Small bases with drawn weights, as `save_pretrained` writes them."""

from pathlib import Path

import torch

TEXTS = ["I saw a good film .", "a bad film , unbelievably bad", "the saw fell", "you saw it , I saw it"]
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_SIZES = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}


def make_base(folder: Path, kind: str, **more) -> Path:
    """Write a base of this kind, a name in `KINDS`."""
    import transformers

    torch.manual_seed(5)
    tokenizer, config = KINDS[kind](**more)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def each_once(above: Path):
    """A function that makes a base of each kind once, in this folder, and gives its own."""

    def make(kind: str) -> Path:
        return above / kind if (above / kind).exists() else make_base(above / kind, kind)

    return make


def _word_pieces():
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = sorted({*"".join(TEXTS).lower()} - {" "})
    pieces = [*_SPECIAL, *letters, *(f"##{each}" for each in letters), "saw", "film", "un", "##believ", "##ably", "bad"]
    made = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="[UNK]", **names), len(pieces)


def _byte_pieces(*special):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=300, special_tokens=[*special], initial_alphabet=sorted(alphabet))
    )
    return made


def _bert(**more):
    import transformers

    tokenizer, size = _word_pieces()
    return tokenizer, transformers.BertConfig(
        vocab_size=size, max_position_embeddings=32, initializer_range=0.3, **_SIZES | more
    )


def _distilbert(**more):
    import transformers

    tokenizer, size = _word_pieces()
    sizes = {"dim": 24, "n_layers": 3, "n_heads": 2, "hidden_dim": 32}
    return tokenizer, transformers.DistilBertConfig(
        vocab_size=size, max_position_embeddings=32, initializer_range=0.3, **sizes | more
    )


def _roberta(**more):
    import transformers
    from tokenizers import processors

    made = _byte_pieces("<s>", "<pad>", "</s>", "<unk>")
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, add_prefix_space=False, **names)
    return tokenizer, transformers.RobertaConfig(
        vocab_size=made.get_vocab_size(),
        max_position_embeddings=34,
        pad_token_id=1,
        initializer_range=0.3,
        **_SIZES | more,
    )


def _gpt2(**more):
    import transformers

    made = _byte_pieces("<|endoftext|>")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|endoftext|>")
    sizes = {"n_embd": 24, "n_layer": 3, "n_head": 2, "n_positions": 32}
    return tokenizer, transformers.GPT2Config(
        vocab_size=made.get_vocab_size(), eos_token_id=0, initializer_range=0.3, **sizes | more
    )


def _albert(**more):
    import transformers

    tokenizer, size = _word_pieces()
    return tokenizer, transformers.AlbertConfig(
        vocab_size=size, embedding_size=8, max_position_embeddings=32, initializer_range=0.3, **_SIZES | more
    )


def _mpnet(**more):
    import transformers

    tokenizer, size = _word_pieces()
    return tokenizer, transformers.MPNetConfig(
        vocab_size=size, max_position_embeddings=34, pad_token_id=0, initializer_range=0.3, **_SIZES | more
    )


def _xlnet(**more):
    import transformers

    tokenizer, size = _word_pieces()
    sizes = {"d_model": 24, "n_layer": 2, "n_head": 2, "d_inner": 32}
    return tokenizer, transformers.XLNetConfig(vocab_size=size, initializer_range=0.3, **sizes | more)


KINDS = {
    "albert": _albert,
    "bert": _bert,
    "distilbert": _distilbert,
    "gpt2": _gpt2,
    "mpnet": _mpnet,
    "roberta": _roberta,
    "xlnet": _xlnet,
}
