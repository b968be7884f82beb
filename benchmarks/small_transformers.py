"""Train a small BERT and a small GPT-2 on English EWT, and ask whether the names of their heads mean something.

    python benchmarks/small_transformers.py OUT                # both, on one core: OUT/bert and OUT/gpt; 20 minutes
    python benchmarks/small_transformers.py OUT --only gpt
    python benchmarks/small_transformers.py --look OUT/bert    # what its heads do, and the loss without each of them

The models are those of transformers, from random weights, with tokenizers that are trained on the same text; they are
saved by `save_pretrained`, so `AutoModel.from_pretrained("OUT/bert")` loads them without a network. The text is the
train split, words with spaces between them (CC BY-SA 4.0); losses are in nats for a token of dev, beside those of the
tokens' frequencies in train. Half of GPT-2's sequences are a piece of text that is then repeated, since repetition
is what induction heads learn from. Position embeddings start as sinusoids, of which a shift is a linear map.

What brings about heads with a pattern within minutes: a vocabulary of short pieces, so that the neighbours of a token
say most about it; many tokens a step; and weights that start larger than the 0.02 of BERT and GPT-2, which suits their
width of 768: with 0.02 the scores of so narrow a model are nearly 0, and its heads stay uniform for thousands of steps.
After the default steps BERT (dev perplexity 41; 280 by the frequencies of tokens) has a head for the next token and two
for the previous one, in 98 to 100 % of pieces, and they matter most: +0.73, +0.17 and +0.05 nats without them. GPT-2
(29; 212) has four for the token itself, and in text that repeats itself five for what followed it before.

--look names each head by the pattern that `head_patterns` measures, by a vote over pieces of dev: the name of most
pieces, and how many pieces have it. For GPT-2 there is a second vote over random tokens that are repeated, of which no
model can learn anything but the repetition. Then each head is removed, one at a time, and the loss on dev is measured.
"""

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from measuring import conditions
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging

import regard
from regard import datasets
from regard.attention import Sinusoidal
from regard.inspection import all_heads, effects, head_patterns

SEED = 0
VOCABULARY = 512
WIDTH, LAYERS, HEADS = 128, 2, 8
INITIAL = 0.05  # the standard deviation of the weights
LENGTH = 64
BATCH = 4096  # tokens
MASKED = 0.25  # of BERT's tokens; with 0.15, as of Devlin et al. 2019, so small a model learns more slowly
REPEATED = 0.5  # of GPT-2's sequences
LEARNING_RATE = 2e-3
IGNORED = -100
PIECES = 50  # of dev, that vote
DEV_TOKENS = 12_000  # for the loss without each head


class Batch(NamedTuple):
    """What a model reads, and what it has to predict; `IGNORED` where nothing is predicted."""

    ids: Tensor
    attended: Tensor
    targets: Tensor


def sentences(split: str) -> list[str]:
    return [" ".join(sentence.words) for sentence in datasets.read("ud-english-ewt", split)]


def wordpiece(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """BERT's: lower-cased words in pieces, with [CLS] before and [SEP] after a text."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(each, tokenizer.token_to_id(each)) for each in ("[CLS]", "[SEP]")],
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), special, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=LENGTH, **names)


def bytes_in_pairs(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """GPT-2's: byte pairs, with their spaces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    end = "<|endoftext|>"
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[end],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=LENGTH, bos_token=end, eos_token=end, unk_token=end
    )


class MaskedTokens:
    """What BERT learns: the tokens that were replaced by [MASK], or by others. A piece is one or more sentences."""

    positions = "bert.embeddings.position_embeddings"

    def __init__(self, tokenizer: Any, texts: Sequence[str]):
        self.tokenizer = tokenizer
        separator = tokenizer.sep_token_id
        self.sentences = [
            [*ids[: LENGTH - 2], separator] for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        ]

    def pieces(self, draws: torch.Generator) -> list[list[int]]:
        """Sentences with those after them, as many as fit; which ones stand together differs from epoch to epoch."""
        found, piece = [], [self.tokenizer.cls_token_id]
        for ids in self.sentences:
            # A sentence in eight begins a new piece though it would fit.
            if len(piece) + len(ids) > LENGTH or (len(piece) > 1 and drawn(draws) < 1 / 8):
                found.append(piece)
                piece = [self.tokenizer.cls_token_id]
            piece = piece + ids
        return [*found, piece]

    def batch(self, pieces: Sequence[list[int]], draws: torch.Generator) -> Batch:
        longest = max(map(len, pieces))
        ids = torch.full((len(pieces), longest), self.tokenizer.pad_token_id)
        for row, piece in enumerate(pieces):
            ids[row, : len(piece)] = torch.tensor(piece)
        attended = ids != self.tokenizer.pad_token_id
        special = torch.isin(ids, torch.tensor(self.tokenizer.all_special_ids))
        chosen = (torch.rand(ids.shape, generator=draws) < MASKED) & ~special
        targets = torch.where(chosen, ids, IGNORED)
        # As in Devlin et al. 2019: of those 80 % become [MASK], 10 % another token, and 10 % stay.
        how = torch.rand(ids.shape, generator=draws)
        others = torch.randint(len(self.tokenizer.all_special_ids), VOCABULARY, ids.shape, generator=draws)
        ids = torch.where(chosen & (how < 0.8), self.tokenizer.mask_token_id, ids)
        return Batch(torch.where(chosen & (how >= 0.9), others, ids), attended.long(), targets)

    def model(self) -> BertForMaskedLM:
        return BertForMaskedLM(
            BertConfig(
                vocab_size=VOCABULARY,
                hidden_size=WIDTH,
                num_hidden_layers=LAYERS,
                num_attention_heads=HEADS,
                intermediate_size=4 * WIDTH,
                initializer_range=INITIAL,
                max_position_embeddings=LENGTH,
                hidden_dropout_prob=0.0,  # in so few epochs
                attention_probs_dropout_prob=0.0,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        )

    @staticmethod
    def loss(model: Any, batch: Batch) -> Tensor:
        # The output layer is a third of the work, so it is given the masked tokens only.
        hidden = model.bert(input_ids=batch.ids, attention_mask=batch.attended).last_hidden_state
        there = batch.targets != IGNORED
        return cross_entropy(model.cls(hidden[there]), batch.targets[there])


class NextTokens:
    """What GPT-2 learns: the next token. A piece is a part of the whole text."""

    positions = "transformer.wpe"

    def __init__(self, tokenizer: Any, texts: Sequence[str]):
        end = tokenizer.eos_token_id
        self.tokenizer = tokenizer
        self.text = [each for ids in tokenizer(list(texts))["input_ids"] for each in (*ids, end)]

    def pieces(self, draws: torch.Generator) -> list[list[int]]:
        """The parts from an offset on, which differs from epoch to epoch."""
        first = int(drawn(draws) * LENGTH)
        return [self.text[at : at + LENGTH] for at in range(first, len(self.text) - LENGTH, LENGTH)]

    def repeated(self, piece: list[int], draws: torch.Generator) -> list[int]:
        """The beginning of a piece, and this again until the piece is full."""
        size = int(LENGTH * (1 + 3 * drawn(draws)) / 8)
        return (piece[:size] * (LENGTH // size + 1))[:LENGTH]

    def batch(self, pieces: Sequence[list[int]], draws: torch.Generator) -> Batch:
        mixed = [self.repeated(piece, draws) if drawn(draws) < REPEATED else piece for piece in pieces]
        return self.plain(mixed)

    @staticmethod
    def plain(pieces: Sequence[list[int]]) -> Batch:
        ids = torch.tensor(pieces)
        targets = torch.cat([ids[:, 1:], torch.full((len(ids), 1), IGNORED)], 1)
        return Batch(ids, torch.ones_like(ids), targets)

    def model(self) -> GPT2LMHeadModel:
        end = self.tokenizer.eos_token_id
        return GPT2LMHeadModel(
            GPT2Config(
                vocab_size=VOCABULARY,
                n_embd=WIDTH,
                n_layer=LAYERS,
                n_head=HEADS,
                n_positions=LENGTH,
                initializer_range=INITIAL,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=end,
                eos_token_id=end,
            )
        )

    @staticmethod
    def loss(model: Any, batch: Batch) -> Tensor:
        logits = model(input_ids=batch.ids, attention_mask=batch.attended).logits
        return cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORED)


TASKS = {"bert": (MaskedTokens, wordpiece), "gpt": (NextTokens, bytes_in_pairs)}


def drawn(draws: torch.Generator) -> float:
    return float(torch.rand((), generator=draws))


def dev_batches(task: Any) -> list[Batch]:
    """Batches of dev, always the same; GPT-2's hold no repetition but that of the text."""
    draws = torch.Generator().manual_seed(SEED + 1)
    make: Callable[..., Batch] = task.plain if isinstance(task, NextTokens) else lambda each: task.batch(each, draws)
    pieces = task.pieces(draws)
    size = BATCH // len(max(pieces, key=len))
    return [make(pieces[first : first + size]) for first in range(0, len(pieces), size)]


def mean_loss(model: Any, task: Any, batches: Sequence[Batch]) -> float:
    """The loss for a token, over all batches."""
    total, count = 0.0, 0
    with torch.inference_mode():
        for batch in batches:
            predicted = int((batch.targets != IGNORED).sum())
            total, count = total + predicted * float(task.loss(model, batch)), count + predicted
    return total / count


def unigram_loss(task: Any, batches: Sequence[Batch]) -> float:
    """The loss of the tokens' frequencies in train, each of them with one more."""
    draws = torch.Generator().manual_seed(SEED)
    counts = Counter(token for piece in task.pieces(draws) for token in piece)
    if isinstance(task, MaskedTokens):
        counts = Counter(
            {token: count for token, count in counts.items() if token not in task.tokenizer.all_special_ids}
        )
    total = counts.total() + VOCABULARY
    targets = [token for batch in batches for token in batch.targets[batch.targets != IGNORED].tolist()]
    return -sum(math.log((counts[token] + 1) / total) for token in targets) / len(targets)


def endless(task: Any, draws: torch.Generator) -> Iterator[Batch]:
    """Batches of train, epoch after epoch, each in another order."""
    while True:
        pieces = task.pieces(draws)
        order = torch.randperm(len(pieces), generator=draws).tolist()
        size = BATCH // len(max(pieces, key=len))
        for first in range(0, len(order) - size + 1, size):
            yield task.batch([pieces[each] for each in order[first : first + size]], draws)


def descend(loss: Tensor, model: Any, optimizer: Any, schedule: Any) -> None:
    """One step of training."""
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()


def train(name: str, folder: Path, steps: int) -> None:
    """Train a model, and save it with its tokenizer."""
    kind, fit = TASKS[name]
    texts, dev_texts = sentences("train"), sentences("dev")
    tokenizer = fit(texts)
    task, dev = kind(tokenizer, texts), dev_batches(kind(tokenizer, dev_texts))
    torch.manual_seed(SEED)
    model = task.model()
    table = model.get_submodule(task.positions).weight
    with torch.no_grad():
        # As large as the word embeddings beside them: a sinusoid's mean square is a half.
        table.copy_(math.sqrt(2) * model.config.initializer_range * Sinusoidal(WIDTH).encode(len(table)))
    baseline = unigram_loss(task, dev)
    print(f"{name}: {model.num_parameters():,} parameters, {steps} steps of {BATCH} tokens", flush=True)
    print(f"  dev loss of the tokens' frequencies {baseline:.3f} (perplexity {math.exp(baseline):.0f})", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.01)
    warm = max(1, steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * step / steps))
    )
    batches, begin, summed = endless(task, torch.Generator().manual_seed(SEED)), time.perf_counter(), 0.0
    model.train()
    shown = max(1, steps // 10)
    for step in range(1, steps + 1):
        loss = task.loss(model, next(batches))
        descend(loss, model, optimizer, schedule)
        summed += loss.item()
        if step % shown == 0:
            model.eval()
            found, minutes = mean_loss(model, task, dev), (time.perf_counter() - begin) / 60
            print(
                f"  step {step:>5}  {minutes:4.1f} min  train {summed / shown:.3f}  dev {found:.3f} "
                f"(perplexity {math.exp(found):.0f})",
                flush=True,
            )
            summed = 0.0
            model.train()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    print(f"  saved in {folder}")


class Vote(NamedTuple):
    """The name that most pieces give to a head, the fraction of pieces with it, and the head's mean entropy in nats."""

    name: str
    share: float
    entropy: float

    def __str__(self) -> str:
        return f"{self.name} {self.share:.0%}"


def votes(model: Any, pieces: Sequence[list[int]], separators: Sequence[int]) -> list[Vote]:
    """The vote on each head, layer by layer."""
    names: list[Counter[str]] = []
    entropies: list[Tensor] = []
    for piece in pieces:
        with torch.inference_mode(), regard.watch(model) as seen:
            model(input_ids=torch.tensor([piece]))
        which = [place for place, token in enumerate(piece) if token in separators]
        found = head_patterns(seen, items=list(map(str, piece)), separators=which)
        names = names or [Counter() for _ in found]
        for counter, each in zip(names, found, strict=True):
            counter[each.name] += 1
        entropies.append(torch.cat([layer.summary.entropy[0].mean(-1) for layer in seen]))
    means = torch.stack(entropies).mean(0).tolist()
    return [
        Vote(counter.most_common(1)[0][0], counter.most_common(1)[0][1] / len(pieces), mean)
        for counter, mean in zip(names, means, strict=True)
    ]


def repetitions(draws: torch.Generator) -> list[list[int]]:
    """Random tokens, twice."""
    half = LENGTH // 2
    return [2 * torch.randint(1, VOCABULARY, (half,), generator=draws).tolist() for _ in range(PIECES)]


def look(folder: Path) -> None:
    """What each head of a saved model does on dev, and the loss without it."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    masked = tokenizer.mask_token is not None
    load = AutoModelForMaskedLM if masked else AutoModelForCausalLM
    model = load.from_pretrained(folder, local_files_only=True).eval()
    task = (MaskedTokens if masked else NextTokens)(tokenizer, sentences("dev"))
    draws = torch.Generator().manual_seed(SEED + 2)
    pieces = task.pieces(draws)
    chosen = [pieces[each] for each in torch.randperm(len(pieces), generator=draws)[:PIECES].tolist()]
    separators = [tokenizer.sep_token_id if masked else tokenizer.eos_token_id]
    columns = [votes(model, chosen, separators)]
    if not masked:
        repeated = repetitions(draws)
        columns.append(votes(model, repeated, separators))
        for part, half in (("first", slice(None, LENGTH // 2)), ("second", slice(LENGTH // 2 - 1, None))):
            batch = NextTokens.plain(repeated)
            kept = torch.full_like(batch.targets, IGNORED)
            kept[:, half] = batch.targets[:, half]
            found = mean_loss(model, task, [batch._replace(targets=kept)])
            print(f"loss on the {part} half of random tokens: {found:.3f}")
    batches = dev_batches(task)[: DEV_TOKENS // BATCH]
    with regard.watch(model) as seen:
        model(input_ids=torch.tensor([chosen[0]]))
    found = effects(model, lambda: mean_loss(model, task, batches), lambda loss: loss, all_heads(seen))
    before = float(found[0].before)
    print(f"loss on {DEV_TOKENS:,} tokens of dev: {before:.4f}")
    second = "" if masked else f"{'repeated tokens':<20}"
    print(f"{'layer':>5} {'head':>4}  {'pattern':<18}{second}{'entropy':>8}{'without':>9}{'change':>9}")
    for votes_of, effect in zip(zip(*columns, strict=True), found, strict=True):
        change: Any = effect.change
        after = float(effect.after)
        other = "".join(f"{each!s:<20}" for each in votes_of[1:])
        print(
            f"{change.layer:>5} {change.head:>4}  {votes_of[0]!s:<18}{other}{votes_of[0].entropy:8.2f}"
            f"{after:9.4f}{after - before:+9.4f}"
        )
    changes = [float(effect.after) - before for effect in found]
    for name in sorted({each.name for column in columns for each in column}):
        named = [any(column[head].name == name for column in columns) for head in range(len(changes))]
        inside = [change for change, there in zip(changes, named, strict=True) if there]
        outside = [change for change, there in zip(changes, named, strict=True) if not there]
        others = f"{sum(outside) / len(outside):+.4f} for one of the others" if outside else "there are no others"
        print(f"removing a head named {name}: {sum(inside) / len(inside):+.4f} on average ({len(inside)}); {others}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT", help="the folder to save the models in")
    parser.add_argument("--only", choices=[*TASKS], help="train one of them")
    parser.add_argument("--steps", type=int, default=1500, help="of training (default: %(default)s)")
    parser.add_argument("--look", type=Path, metavar="FOLDER", help="a saved model, to say what its heads do")
    given = parser.parse_args()
    if (given.out is None) == (given.look is None):
        parser.error("give OUT, to train, or --look FOLDER")
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    print(conditions("transformers", "tokenizers", threads=1, seed=SEED), flush=True)
    if given.look is not None:
        look(given.look)
        return
    for name in [given.only] if given.only else TASKS:
        train(name, given.out / name, given.steps)


if __name__ == "__main__":
    main()
