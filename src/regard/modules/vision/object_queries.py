"""Object queries: learned vectors that attend to the items of a picture, each of which becomes one object or none."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.validation import check_count
from regard.modules.seq2seq.decoder import Decoder
from regard.modules.vision.set_matching import Objects

__all__ = ["BoxHead", "ObjectQueries"]


class BoxHead(nn.Module):
    """Three linear layers that give the four numbers of a box, before the sigmoid.

    Source: Carion et al. 2020 (arXiv 2005.12872), section 3.2, prediction feed-forward networks.
    """

    def __init__(self, width: int):
        super().__init__()
        hidden = (nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.layers = nn.Sequential(*hidden, nn.Linear(width, 4))

    def forward(self, vectors: Float[Tensor, "*item width"]) -> Float[Tensor, "*item 4"]:
        return self.layers(vectors)


class ObjectQueries(nn.Module):
    """Finds a set of objects: a decoder whose targets are learned queries, all decoded at once.

    The queries attend to each other, so that two of them needn't find the same object, and to the items of a picture,
    such as its feature map. Each query gives the scores of its classes, of which the last is "no object", and a box.
    `SetLoss` trains them.

    Unlike in the paper, the layers are pre-norm, the queries enter the first layer only, and each query has a learned
    box of its own, which the decoder changes. Training is faster, because each query has its region from the start.

    Args:
        width: the size of the vectors.
        queries: how many there are: the most objects that it can find.
        classes: the number of classes, without "no object".
        layers, heads, hidden, **parts: as in `Decoder`.
        target_mask: which queries each query may attend to; None: all.

    Raises:
        ArgumentError: a number isn't a positive integer, or `target_mask` isn't a mask.

    Source: Carion et al. 2020 (arXiv 2005.12872), section 3.2; Zhu et al. 2020 (arXiv 2010.04159), section A.3, boxes
        relative to a learned place.

    Example:
        >>> finder = ObjectQueries(8, queries=5, classes=3, layers=2, heads=2, hidden=16)
        >>> found = finder(torch.randn(2, 12, 8))
        >>> len(found), found[-1].scores.shape, found[-1].boxes.shape
        (2, torch.Size([2, 5, 4]), torch.Size([2, 5, 4]))
    """

    def __init__(
        self,
        width: int,
        queries: int,
        classes: int,
        *,
        layers: int,
        heads: int,
        hidden: int,
        target_mask: Any = None,
        **parts: Any,
    ):
        super().__init__()
        check_count("width", width, "the size of the vectors")
        check_count("queries", queries, "the most objects that can be found")
        check_count("classes", classes, "the number of classes")
        check_count("layers", layers, "how many layers the decoder has")
        check_count("heads", heads, "how many heads there are")
        check_count("hidden", hidden, "the size of the hidden layer")
        self.queries = nn.Parameter(torch.empty(queries, width))
        nn.init.normal_(self.queries)
        self.decoder = Decoder(width, layers, heads, hidden=hidden, target_mask=target_mask, **parts)
        self.scores = nn.Linear(width, classes + 1)
        self.boxes = BoxHead(width)
        # Before the sigmoid: centres all over the picture, and sizes of about a quarter of it.
        self.reference_boxes = nn.Parameter(torch.empty(queries, 4))
        nn.init.normal_(self.reference_boxes)
        with torch.no_grad():
            self.reference_boxes[:, 2:].mul_(0.25).sub_(1.0)

    def forward(self, source: Float[Tensor, "batch item width"], *, mask: Any = None) -> list[Objects]:
        """The objects after each layer, the last of which are the answer; the others are for auxiliary losses.

        Args:
            source: the items of the picture.
            mask: which query may attend to which item, such as `Lengths(key=lengths)` for padded pictures.
        """
        queries = self.queries.expand(len(source), -1, -1)
        decoded = self.decoder.after_each_layer(queries, source, mask=mask)
        return [Objects(self.scores(each), (self.reference_boxes + self.boxes(each)).sigmoid()) for each in decoded]
