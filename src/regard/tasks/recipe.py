"""Everything but the data that decides what a trained model becomes: one frozen `Recipe`, saved as JSON."""

import json
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from regard.attention import INPUT_POSITIONS, POSITIONS, SCORES, WEIGHTS
from regard.errors import ArgumentError
from regard.files import read_regular
from regard.modules import APPROXIMATIONS
from regard.modules.projections import PROJECTIONS
from regard.tasks.architectures import ITEM_NETWORKS
from regard.tasks.architectures.self_attention import SOURCE_MASKS
from regard.tasks.registry import TASKS
from regard.tasks.settings import (
    Settings,
    boolean,
    fraction,
    integer,
    integer_or_none,
    none_or_one_of,
    one_of,
    real,
    real_or_none,
    section,
)
from regard.tasks.sources import INPUTS, Words
from regard.tasks.tagger.settings import TaggerSettings

__all__ = ["Recipe"]

_MOST_BYTES = 1 << 20  # of a file: that of the longest recipe has a few thousand


@dataclass(frozen=True)
class Recipe(Settings):
    """How to train a model; the defaults are those of the English tagger, without its auxiliary labels.

    Inputs and outputs:
        task: the kind of task: settings of one of the kinds in `TASKS`, its name, or a mapping of settings, as for
            `input`.
        input: what the sources are and how they become vectors: settings of one of the kinds in `INPUTS`, its name, or
            a mapping of the settings that differ from the default: `{"word_width": 32}`, `{"kind": "words",
            "word_width": 32}`.

    The network (`regard.modules`):
        network: a name in `NETWORKS`: how an item receives information from the others. "connected" leaves out the
            attention and changes nothing else, for comparison; "window" sees `reach` neighbours on each side, and so
            does each layer of "convolution"; "convolution_attention" has such a convolution before each attention;
            "recurrent" and "bidirectional" use a `cell`, "gru" or "lstm"; "graph_attention" is attention without a
            fully connected part, for graphs.
        width, layers, heads, hidden: of the network; `hidden` is the inner size of its fully connected parts.
        score, weights: of the attention, as in `regard.attend`.
        projections: of the attention: which of queries, keys and values have a projection of their own, a name in
            `PROJECTIONS`: "separate", "shared_query_key", "shared_query_key_value" or "query_only"; "usual" is
            "query_only" for "graph_attention", and "separate" for everything else.
        mask: of self-attention on the source, beside padding and edges: "none"; "no_self": no item attends to itself;
            "causal": none attends to a later one; "window": truncated attention; "strided", "longformer" and "bigbird":
            some pairs alone, for long sources, as `modules.Strided`, `modules.Longformer` and `modules.BigBird`.
        attention_window: of the mask "window": how many items before and after its own each attends to, in each layer.
            Likewise of "longformer", whose first item attends to all, and all to it, and of "strided", whose stride it
            is, too. Of "bigbird" it is the size of a block.
        approximation: of self-attention on the source: "none", which is exact, or a name in `APPROXIMATIONS`, for long
            sources. It needs an `attention_dropout` of 0, the usual `score` and `weights`, and a `position` that is
            added to the inputs, or "none". The mask "causal" needs an approximation that is `causal`, and no other mask
            is possible. One with `shared_query_key`, such as "reformer", needs `projections` with one matrix for
            queries and keys.
        approximation_size: of an approximation with a size: the value of the argument of its class that
            `size_argument` names, such as `features` of `modules.PerformerAttention`. None: the default of the class. A
            larger size takes longer, and an estimate of exact attention gets closer to it.
        max_length: of an approximation that learns tables by position, such as "linformer" or "synthesizer": the number
            of items of the longest source, in training and later. The number of parameters grows with it, as the class
            says: choose a max_length that fits your sources.
        residual: of the network "attention": whether each sublayer adds its input to its output.
        position: of the attention: "relative" or the name of another position scheme, or "none".
        reach: the largest distance between two items that has a relative position of its own.

    Regularisation:
        dropout: on the items' vectors, and on the output of each sublayer.
        attention_dropout: on the attention weights.
        members: of a tagger or a classifier: the number of networks in an ensemble, trained side by side from
            different initial weights and with different dropout. The mean of their outputs is the prediction, which
            depends less on chance; time and size grow with the number. Each has its own loss; the best epoch and the
            clipping of gradients are shared.
        consistency: of a tagger or a classifier: the weight, beside 1 for the loss, of the agreement between four
            passes with different dropout, whether or not the target is known: so the network also learns from
            unlabelled sources. Training takes two to four times as long. 0: each batch is passed once.
        head: of a tagger or a classifier: whether its output layer is "trained" with the network or "fitted": solved as
            a convex problem, with a strength of the penalty that cross-validation chooses. That is for few examples,
            and for vectors that nothing trains: the network "identity", and a pooling without parameters.

    Training:
        optimizer: "adamw", or "muon": AdamW for vectors and tables, orthogonalised updates for matrices. Muon learns
            more from a batch, prefers larger batches, and its cost for each batch doesn't depend on the batch's size.
        epochs, batch_items, learning_rate, weight_decay, beta2, gradient_clip: of both; `beta2` is of AdamW alone. A
            batch has at most `batch_items` items (words, ...; of a base the pieces of words), including padding.
        warm_up: the fraction of training during which the learning rate rises; then it falls to zero by a half cosine
            or linearly, as `schedule` says ("cosine" or "linear").
        smoothing: label smoothing.
        average: the decay of the moving average of the weights; 0: no average.
        best_by: what makes an epoch the best one: its "score" on dev, of equal scores the one with the lower loss; or
            its "loss" on dev, which for probabilities is taken at their best temperature. Of few examples the loss says
            more than the score.
        cross_validate: whether cross-validation on at most 5,000 training examples chooses `keep_epoch` anew, if dev
            has fewer than 200; it takes the time of three or four trainings. Not with `minutes` or auxiliary targets.
        keep_epoch: training ends after this epoch, which is kept; None: the best on dev is.
        patience: stop after this many epochs without a better score on dev, or a lower loss, as `best_by` says.
            Training also ends where a dev of 100 or more has had no error for a fifth of the epochs.
        minutes: stop after the epoch in which this time is over; None: no limit. A run that stops in this way can't be
            repeated exactly.
        seed: of the initial weights, the order of examples and dropout.

    Raises:
        UnknownNameError: a field that there isn't; names the nearest.
        ArgumentError: a value of the wrong type or outside its range, or a mask, projections, an approximation or no
            residual connections for a network that can't be changed so.

    Example:
        >>> recipe = Recipe(width=64, heads=4, epochs=3, input={"word_width": 32})
        >>> recipe.input.word_width, recipe.input.affix_width
        (32, 64)
        >>> Recipe.from_json(recipe.to_json()) == recipe
        True
        >>> Recipe(task="classifier").task.kind
        'classifier'
        >>> Recipe(widht=64)
        Traceback (most recent call last):
            ...
        regard.errors.UnknownNameError: `Recipe` has no 'widht'. Did you mean 'width'?
    """

    task: Any = section(TaggerSettings(), TASKS, settings=attrgetter("settings"))
    input: Any = section(Words(), INPUTS)

    width: int = integer(128, 1)
    layers: int = integer(2, 1, 1000)
    heads: int = integer(4, 1)
    hidden: int = integer(256, 1)
    network: str = one_of("attention", *ITEM_NETWORKS.kinds)
    cell: str = one_of("gru", "gru", "lstm")
    score: str = one_of("scaled_dot", *SCORES)
    weights: str = one_of("softmax", *WEIGHTS)
    projections: str = one_of("usual", "usual", *PROJECTIONS)
    mask: str = one_of("none", *SOURCE_MASKS)
    attention_window: int = integer(8, 0)
    approximation: str = none_or_one_of(APPROXIMATIONS)
    approximation_size: int | None = integer_or_none(1)
    max_length: int = integer(4096, 1)
    residual: bool = boolean(True)
    position: str = one_of("relative", *POSITIONS, *INPUT_POSITIONS, "none")
    reach: int = integer(8, 0)

    dropout: float = fraction(0.2)
    attention_dropout: float = fraction(0.1)
    members: int = integer(1, 1, 100)
    consistency: float = real(0.0, 0.0)
    head: str = one_of("trained", "trained", "fitted")

    optimizer: str = one_of("adamw", "adamw", "muon")
    epochs: int = integer(14, 1)
    batch_items: int = integer(1500, 1)
    learning_rate: float = real(3e-3, 0.0, above=True)
    weight_decay: float = real(0.01, 0.0)
    beta2: float = fraction(0.98)
    gradient_clip: float = real(1.0, 0.0, above=True)
    warm_up: float = fraction(0.1)
    schedule: str = one_of("cosine", "cosine", "linear")
    smoothing: float = fraction(0.0)
    average: float = fraction(0.0)
    best_by: str = one_of("score", "score", "loss")
    cross_validate: bool = boolean(False)
    keep_epoch: int | None = integer_or_none(1)
    patience: int = integer(6, 1)
    minutes: float | None = real_or_none(0.0)
    seed: int = integer(0, 0, 2**31 - 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.task.architectures.check(self)
        if self.width % self.heads:
            raise ArgumentError(f"`width` must be a multiple of `heads`, which is {self.heads}, but is {self.width}.")

    @property
    def architecture(self) -> Any:
        """The network that it describes, with the fields that this network depends on and a method `build`."""
        return self.task.architectures.read(self)

    @classmethod
    def read(cls, path: str | Path) -> "Recipe":
        """Read a recipe from a JSON file.

        Raises:
            ArgumentError: the file is missing, isn't text in UTF-8 or JSON, or holds something else than a recipe.
        """
        try:
            values = json.loads(read_regular(path, _MOST_BYTES).decode("utf-8"))
        except OSError as error:
            raise ArgumentError(f"`recipe` must be a JSON file, but {path} can't be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise ArgumentError(f"`recipe` must be a JSON file, but {path} isn't a text file in UTF-8.") from error
        except (ValueError, RecursionError) as error:
            raise ArgumentError(f"`recipe` must be a JSON file, but {path} isn't JSON: {error}.") from error
        try:
            return cls.from_json(values)
        except ArgumentError as error:
            error.args = (f"{path}: {error}",)
            raise
