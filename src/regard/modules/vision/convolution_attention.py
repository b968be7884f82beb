"""Convolution as a special case of attention: each head looks at one offset, and the output matrix is the kernel."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.attention.precision import wide_dtype
from regard.attention.validation import check_count, check_number
from regard.errors import ArgumentError, UnknownNameError
from regard.modules.vision.pictures import to_picture, to_vectors

__all__ = ["ConvolutionAttention", "SquaredDistance"]


@dataclass(frozen=True)
class SquaredDistance:
    """score_ij = -alpha ||k_j - q_i||^2: with softmax, the weights are a Gaussian of variance 1 / (2 alpha) around q_i.

    Args:
        alpha: (head,), how steeply the scores of each head fall.

    Example:
        >>> SquaredDistance(torch.tensor([2.0]))(torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[0.0, 1.0], [3.0, 1.0]]]))
        tensor([[[ -0., -18.]]])
    """

    alpha: Tensor

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        # As differences: in |q|^2 - 2 q.k + |k|^2 the rounding of large terms would remain where the distance is small.
        distance = (key.unsqueeze(-3) - query.unsqueeze(-2)).square().sum(-1)
        return -self.alpha[:, None, None].to(distance.dtype) * distance

    def select(self, heads: Tensor) -> "SquaredDistance":
        return dataclasses.replace(self, alpha=self.alpha[heads])


class ConvolutionAttention(nn.Module):
    """Multi-head self-attention of pixels by relative position alone; `from_conv2d` makes it equal to a convolution.

    There is a head h for each pixel of the kernel. It scores key pixel k for query pixel q by the offset delta = k - q:

        score = -alpha_h ||delta - centre_h||^2

    so that it averages the pixels around q + centre_h, the more narrowly the larger alpha_h is. The averages of all
    heads, each of all channels, are concatenated and multiplied by one output matrix. If alpha is large enough, each
    head copies one pixel, and the output matrix is the kernel of a convolution. `log_alpha` (head,) and `centres`
    (head, 2), in rows and columns, are trained; the centres start at the pixels of the kernel.

    Zeros around the picture are pixels that are attended to like all others, and whose values are 0. As attention
    reaches all pixels, a single NaN or infinity in a picture makes all outputs of that picture NaN.

    Args:
        in_channels, out_channels: the channels of the input and of the output.
        kernel_size: the height and width of the kernel, or one number for both; it has height x width heads.
        stride, dilation: as in `nn.Conv2d`: the distances between queries, and between the centres at the start.
        padding: how many rows and columns of zeros surround the picture, "same" or "valid", as in `nn.Conv2d`.
        bias: whether a bias is added to the output.
        alpha: the alpha of each head at the start. With 1.0 a head looks at about 3 x 3 pixels.

    Raises:
        ArgumentError: a size isn't a positive integer, `padding` can't be used, `alpha` isn't a positive number, the
            input isn't a picture with that many channels, or is smaller than the kernel.

    Source: Cordonnier et al. 2020 (arXiv 1911.03584): theorem 1 with lemma 1, and for these scores lemma 2 and
        equation 9, v = -alpha (1, -2 centre_1, -2 centre_2) and r_delta = (||delta||^2, delta_1, delta_2); the product
        v . r_delta differs from the score above by a constant, which softmax ignores.

    Example:
        >>> layer = ConvolutionAttention(3, 8, kernel_size=(3, 2))
        >>> layer(torch.zeros(2, 3, 5, 7)).shape
        torch.Size([2, 8, 5, 7])
        >>> layer.centres.tolist()
        [[-1.0, 0.0], [-1.0, 1.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """

    __call__: Callable[..., Tensor]  # that of nn.Module gives Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        *,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] | str = "same",
        dilation: int | tuple[int, int] = 1,
        bias: bool = True,
        alpha: float = 1.0,
    ):
        super().__init__()
        check_count("in_channels", in_channels, "the number of channels of the input")
        check_count("out_channels", out_channels, "the number of channels of the output")
        check_number("alpha", alpha, "It is trained in any case.")
        if not 0 < alpha < math.inf:
            raise ArgumentError(
                f"`alpha` must be a finite number above 0, but is {alpha}. The larger, the fewer pixels a head sees."
            )
        self.in_channels = in_channels
        self.kernel_size = _pair("kernel_size", kernel_size, least=1)
        self.stride, self.dilation = _pair("stride", stride, least=1), _pair("dilation", dilation, least=1)
        # How far the kernel reaches from its first pixel to its last, and from its first to its middle.
        self._extent = tuple(step * (size - 1) for step, size in zip(self.dilation, self.kernel_size, strict=True))
        self._middle = tuple(extent // 2 for extent in self._extent)
        self.padding = self._sides(padding)
        offsets = [
            torch.arange(size, device=torch.get_default_device()) * step - middle
            for size, step, middle in zip(self.kernel_size, self.dilation, self._middle, strict=True)
        ]
        self.centres = nn.Parameter(torch.cartesian_prod(*offsets).to(torch.get_default_dtype()))
        self.log_alpha = nn.Parameter(torch.full((len(self.centres),), math.log(alpha)))
        self.output = nn.Linear(len(self.centres) * in_channels, out_channels, bias=bias)

    @classmethod
    def from_conv2d(cls, convolution: nn.Conv2d, *, alpha: float | None = None) -> "ConvolutionAttention":
        """A layer that computes what a convolution computes, up to the rounding of its sums, for pictures of any size.

        Args:
            convolution: any stride, padding with zeros, dilation and kernel; `groups` must be 1.
            alpha: None: large enough that the softmax gives a weight of exactly 1 to one pixel and 0 to all others,
                because exp(-alpha) is less than half of the smallest positive number: 104.3 in float32 and 745.5 in
                float64. The output matrix and the values then have the gradients of the convolution, but those of
                centres and alpha are zero. To train them too, start from a smaller alpha: the four neighbours of a
                head's pixel get exp(-alpha) of its weight each, which is 2 % at 4.0, and 37 % at 1.0.

        Raises:
            ArgumentError: it isn't an `nn.Conv2d`, or has groups or another padding mode than "zeros", or `alpha` isn't
                a positive number.

        Source: Cordonnier et al. 2020 (arXiv 1911.03584), theorem 1; its proof of lemma 2 lets alpha go to infinity.

        Example:
            >>> convolution = nn.Conv2d(3, 8, kernel_size=(3, 2), padding=1)
            >>> picture = torch.randn(2, 3, 5, 7)
            >>> layer = ConvolutionAttention.from_conv2d(convolution)
            >>> torch.allclose(layer(picture), convolution(picture), atol=1e-5)
            True
        """
        if not isinstance(convolution, nn.Conv2d):
            raise ArgumentError(
                f"`convolution` must be a torch.nn.Conv2d, but is {type(convolution).__name__}. "
                "Other convolutions can't be converted."
            )
        for name, needed in (("groups", 1), ("padding_mode", "zeros")):
            if getattr(convolution, name) != needed:
                raise ArgumentError(
                    f"`convolution` must have {name}={needed!r}, but has {name}={getattr(convolution, name)!r}. "
                    "Only such convolutions can be converted."
                )
        weight = convolution.weight
        layer = cls(
            convolution.in_channels,
            convolution.out_channels,
            convolution.kernel_size,  # pyright: ignore[reportArgumentType]
            stride=convolution.stride,  # pyright: ignore[reportArgumentType]
            padding=convolution.padding,  # pyright: ignore[reportArgumentType]
            dilation=convolution.dilation,  # pyright: ignore[reportArgumentType]
            bias=convolution.bias is not None,
            alpha=_hard_alpha(weight) if alpha is None else alpha,
        ).to(weight.device, weight.dtype)
        with torch.no_grad():
            # (out in height width) -> (out (height width in)): heads are in the order of the kernel's pixels.
            layer.output.weight.copy_(weight.permute(0, 2, 3, 1).flatten(1))
            if convolution.bias is not None:
                layer.output.bias.copy_(convolution.bias)
        return layer

    def pixels(self, height: int, width: int) -> tuple[Tensor, Tensor]:
        """The row and column of each query, (query, 2), and of each key, (key, 2), for a picture of this size.

        The first pixel of the picture is (0, 0); keys that lie outside are the zeros around it. A query is the middle
        of the kernel, rounded down.

        Raises:
            ArgumentError: the picture with its padding is smaller than the kernel.

        Example:
            >>> query, key = ConvolutionAttention(1, 1, kernel_size=3, padding=1).pixels(2, 5)
            >>> query[0].tolist(), key[0].tolist(), len(query), len(key)
            ([0, 0], [-1, -1], 10, 28)
        """
        rows, columns = self._axes(height, width)
        return torch.cartesian_prod(rows[0], columns[0]), torch.cartesian_prod(rows[1], columns[1])

    def forward(self, picture: Tensor) -> Tensor:
        """The picture (batch, out_channels, height, width) as a convolution of these sizes would return it."""
        if picture.ndim != 4 or picture.shape[1] != self.in_channels:
            raise ArgumentError(
                f"`picture` must be (batch, {self.in_channels} channels, height, width), but is {tuple(picture.shape)}."
            )
        query, key = self.pixels(*picture.shape[2:])
        (top, bottom), (left, right) = self.padding
        vectors = to_vectors(nn.functional.pad(picture, (left, right, top, bottom)))
        # The weights are the same for all pictures, so they are computed once, for the values of all pictures:
        # (batch pixel channel) -> (1 1 pixel (batch channel)). In float32 at least, where rows and columns are exact.
        wide = wide_dtype(vectors)
        values = vectors.transpose(0, 1).flatten(1)[None, None].to(wide)
        centres = query.to(wide) + self.centres.to(wide).unsqueeze(1)
        score = SquaredDistance(self.log_alpha.to(wide).exp())
        averages = attend(centres[None], key[None, None].to(wide), values, score=score)
        # (1 head query (batch channel)) -> (batch query (head channel))
        averages = averages[0].unflatten(-1, vectors.shape[::2]).permute(2, 1, 0, 3).flatten(2)
        height, width = (len(queries) for queries, _ in self._axes(*picture.shape[2:]))
        return to_picture(self.output(averages.to(picture.dtype)), height, width)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.output.out_features}, kernel_size={self.kernel_size}"

    def _axes(self, height: int, width: int) -> list[tuple[Tensor, Tensor]]:
        """The queries and the keys along each axis: first the rows, then the columns."""
        found, device = [], self.centres.device
        for axis, size in enumerate((height, width)):
            before, after = self.padding[axis]
            last = size + after - self._extent[axis]  # where the kernel's first pixel can no longer lie
            if last <= -before:
                raise ArgumentError(
                    f"`picture` must have at least {self._extent[axis] + 1} {('rows', 'columns')[axis]} with its "
                    f"padding, as the kernel has, but has {before + size + after}. Pad it, or take a smaller kernel."
                )
            queries = torch.arange(-before, last, self.stride[axis], device=device) + self._middle[axis]
            found.append((queries, torch.arange(-before, size + after, device=device)))
        return found

    def _sides(self, padding: Any) -> tuple[tuple[int, int], ...]:
        """How many rows of zeros are above and below, and how many columns to the left and to the right."""
        if padding == "same":
            if self.stride != (1, 1):
                raise ArgumentError(f'`stride` must be 1 where `padding` is "same", but is {self.stride}.')
            pairs = zip(self._middle, self._extent, strict=True)
            return tuple((middle, extent - middle) for middle, extent in pairs)
        if isinstance(padding, str) and padding != "valid":
            raise UnknownNameError("padding", padding, ["same", "valid"])
        rows, columns = (0, 0) if padding == "valid" else _pair("padding", padding, least=0)
        return (rows, rows), (columns, columns)


def _pair(name: str, value: Any, least: int) -> tuple[int, int]:
    """A number for both axes, or one for each."""
    pair = tuple(value) if isinstance(value, tuple | list) else (value, value)
    if len(pair) != 2:
        raise ArgumentError(f"`{name}` must be a number or two, for height and width, but is {value!r:.60}.")
    for each in pair:
        check_count(name, each, "a number of pixels, or two", least)
    return pair


def _hard_alpha(weight: Tensor) -> float:
    """An alpha for which a softmax in this dtype gives pixels at a distance of 1 and more exactly 0."""
    limits = torch.finfo(wide_dtype(weight))
    # The smallest positive number is tiny * eps; what is less than half of it becomes 0.
    return 1.0 - math.log(limits.tiny * limits.eps)
