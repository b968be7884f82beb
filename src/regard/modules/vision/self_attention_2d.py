"""Self-attention over the positions of a feature map, as SAGAN adds it to convolutional networks."""

import torch
from torch import Tensor, nn

from regard.attention import attend
from regard.attention.validation import check_count
from regard.errors import ArgumentError
from regard.modules.vision.pictures import to_picture, to_vectors

__all__ = ["SelfAttention2d"]


class SelfAttention2d(nn.Module):
    """Self-attention over a feature map x (batch, channel, height, width): every position attends to every position.

        output_i = x_i + gamma W_o sum_j softmax_j(q_i . k_j) v_j,    q = W_q x,  k = W_k x,  v = W_v x

    The four matrices are 1 x 1 convolutions without a bias, `query`, `key`, `value` and `output`. The scores aren't
    scaled. `gamma` is a trained number that starts at 0, so that a new layer returns its input: a network starts with
    its convolutions alone, and learns how much to add from far away. The map may have any height and width, and memory
    grows linearly with the number of its positions.

    Args:
        channels: the number of channels of the map.
        key_channels: the number of channels of queries and keys; None: an eighth of `channels`, but at least one.
        value_channels: the number of channels of values; None: a half of `channels`, but at least one.

    Raises:
        ArgumentError: a number of channels isn't a positive integer, or the input isn't a map with that many channels.

    Source: Zhang et al. 2019 (SAGAN, arXiv 1805.08318), section 3, equations 1 to 3. In the paper queries, keys and
        values have channels / 8. In the authors' code values have channels / 2, as here; it also pools keys and values
        over 2 x 2 positions to save memory. Without gamma the layer is the non-local block of Wang et al. 2018 (arXiv
        1711.07971) in its form "embedded Gaussian".

    Example:
        >>> layer = SelfAttention2d(16)
        >>> x = torch.randn(2, 16, 5, 7)
        >>> torch.equal(layer(x), x)
        True
        >>> _ = torch.nn.init.ones_(layer.gamma)
        >>> layer(x).shape, torch.equal(layer(x), x)
        (torch.Size([2, 16, 5, 7]), False)
    """

    def __init__(self, channels: int, *, key_channels: int | None = None, value_channels: int | None = None):
        super().__init__()
        check_count("channels", channels, "the number of channels of the map")
        key_channels = max(channels // 8, 1) if key_channels is None else key_channels
        value_channels = max(channels // 2, 1) if value_channels is None else value_channels
        check_count("key_channels", key_channels, "the number of channels of queries and keys")
        check_count("value_channels", value_channels, "the number of channels of values")
        self.query = nn.Conv2d(channels, key_channels, 1, bias=False)
        self.key = nn.Conv2d(channels, key_channels, 1, bias=False)
        self.value = nn.Conv2d(channels, value_channels, 1, bias=False)
        self.output = nn.Conv2d(value_channels, channels, 1, bias=False)
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, picture: Tensor) -> Tensor:
        """The map after every position attended to all, (batch, channel, height, width)."""
        channels = self.query.in_channels
        if picture.ndim != 4 or picture.shape[1] != channels:
            raise ArgumentError(
                f"`picture` must be (batch, {channels} channels, height, width), but is {tuple(picture.shape)}."
            )
        if 0 in picture.shape[2:]:
            # There is nothing to attend to, and convolutions refuse such a map.
            return picture.clone()
        # (b d h w) -> (b 1 (h w) d): there is one head.
        query, key, value = (to_vectors(layer(picture))[:, None] for layer in (self.query, self.key, self.value))
        averages = attend(query, key, value, score="dot")[:, 0]
        return picture + self.gamma * self.output(to_picture(averages, *picture.shape[2:]))
