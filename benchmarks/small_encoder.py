"""Train a small Chinese encoder by masked characters, as a base for a language that has none at hand.

    python benchmarks/small_encoder.py OUT            # on one core: about 25 minutes
    python benchmarks/text_models.py OUT --rows hotel:all --ways base --final

The text is that of train, without its labels: hotel reviews, the Chinese treebank in simplified characters, and the
Chinese side of short sentences from Tatoeba; 1.3 million characters, so this is a base for a comparison and for tests,
and none to keep. A BERT of 4 layers of width 192 with a vocabulary of characters (transformers), trained with 15 % of
them masked (Devlin et al. 2019, section 3.1). What is saved loads by `AutoModel.from_pretrained` without a network.
"""

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from measuring import conditions
from small_transformers import descend
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, DataCollatorForLanguageModeling, PreTrainedTokenizerFast

from regard import datasets

SEED, VOCABULARY, WIDTH, LAYERS, HEADS = 0, 4000, 192, 4, 4
LENGTH, POSITIONS = 126, 512
BATCH = 4096  # tokens
LEARNING_RATE = 1e-3
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}


def texts() -> list[str]:
    """The texts of train, in a fixed order."""
    reviews = [each.source for each in datasets.read("chinese-hotel-reviews", "train")]
    treebank = ["".join(each.words) for each in datasets.read("ud-chinese-gsd", "train")]
    sentences = [each.target for each in datasets.read("tatoeba-zh-en", "train")]
    found = list(dict.fromkeys([*reviews, *treebank, *sentences]))
    random.Random(SEED).shuffle(found)
    return found


def fitted(given: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of characters; words in Latin letters stay in pieces."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [*SPECIAL.values()]
    trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(given, trainer)
    ends = [(each, tokenizer.token_to_id(each)) for each in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = {f"{name}_token": token for name, token in SPECIAL.items()}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=POSITIONS, **names)


def pieces(tokenizer: PreTrainedTokenizerFast, given: list[str]) -> list[list[int]]:
    """The texts as token ids, long ones in parts, short ones together."""
    found, piece = [], []
    for ids in tokenizer(given, add_special_tokens=False)["input_ids"]:
        for first in range(0, len(ids), LENGTH):
            part = ids[first : first + LENGTH]
            if piece and len(piece) + len(part) > LENGTH:
                found.append(piece)
                piece = []
            piece = [*piece, *part]
    return [*found, piece]


def batches(given: list[list[int]], tokenizer: PreTrainedTokenizerFast) -> Iterator[dict[str, torch.Tensor]]:
    """Masked batches of train, epoch after epoch, each in another order."""
    collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    order, size = random.Random(SEED), BATCH // (LENGTH + 2)
    ends = tokenizer.cls_token_id, tokenizer.sep_token_id
    while True:
        order.shuffle(given)
        for first in range(0, len(given) - size + 1, size):
            yield collate([{"input_ids": [ends[0], *each, ends[1]]} for each in given[first : first + size]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=900)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    print(conditions("transformers"))
    given = texts()
    tokenizer = fitted(given)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            intermediate_size=4 * WIDTH,
            max_position_embeddings=POSITIONS,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=asked.steps, pct_start=0.06)
    print(f"{model.num_parameters():,} parameters, {len(given):,} texts, {asked.steps} steps of {BATCH} tokens")
    begin, summed, told = time.perf_counter(), 0.0, max(1, asked.steps // 10)
    model.train()
    for step, batch in zip(range(1, asked.steps + 1), batches(pieces(tokenizer, given), tokenizer), strict=False):
        loss = model(**batch).loss
        descend(loss, model, optimizer, schedule)
        summed += loss.item()
        if step % told == 0:
            print(f"step {step}  {(time.perf_counter() - begin) / 60:.1f} min  loss {summed / told:.3f}", flush=True)
            summed = 0.0
    model.eval().save_pretrained(asked.out)
    tokenizer.save_pretrained(asked.out)


if __name__ == "__main__":
    main()
