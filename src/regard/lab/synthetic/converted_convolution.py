"""Convolutions as attention: how far the two differ, and what attention learns from there on pictures of digits."""

import copy

import torch
from torch import Tensor, nn

from regard.extras import require
from regard.modules import ConvolutionAttention

__all__ = ["largest_difference", "trained_from_a_convolution"]

HELD_OUT = 500
_RATE, _POSITION_RATE, _CHANNELS, _KERNEL = 3e-3, 3e-2, 8, 3


@torch.no_grad()
def largest_difference(seed: int, shapes: int) -> float:
    """The largest difference between random convolutions and the attention made of them, relative to their outputs.

    Args:
        seed: of the shapes, the weights and the pictures.
        shapes: the number of random shapes: channels, kernels of 1 x 1 to 5 x 5, paddings, pictures.

    Example:
        >>> largest_difference(0, 3) < 1e-5
        True
    """
    draw = torch.Generator().manual_seed(seed)

    def between(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=draw))

    worst = 0.0
    for _ in range(shapes):
        kernel, padding = (between(1, 5), between(1, 5)), (between(0, 3), between(0, 3))
        layer = nn.Conv2d(between(1, 5), between(1, 5), kernel, padding=padding)
        for parameter in layer.parameters():
            nn.init.normal_(parameter, generator=draw)
        size = (max(1, kernel[0] - 2 * padding[0]) + between(0, 9), max(1, kernel[1] - 2 * padding[1]) + between(0, 9))
        picture = torch.randn(2, layer.in_channels, *size, generator=draw)
        right = layer(picture)
        converted = ConvolutionAttention.from_conv2d(layer)(picture)
        worst = max(worst, float((converted - right).abs().max() / right.abs().max()))
    return worst


def trained_from_a_convolution(network: str, seed: int, *, epochs: int, more: int, alpha: float) -> dict[str, float]:
    """Train convolutions on scikit-learn's digits, convert them, and train further.

    Args:
        network: "convolution" trains the convolutions further, "attention" the attention made of them.
        seed: of everything.
        epochs, more: the epochs before and after.
        alpha: how narrow the heads are after the conversion: at 2 they see their neighbours, too, and can move.

    Returns:
        accuracy and loss on held-out pictures, the training loss, and how far the centres moved, in pixels.
    """
    torch.manual_seed(seed)
    data, held_out = _digits(seed)
    model: nn.Sequential = nn.Sequential(
        nn.Conv2d(1, _CHANNELS, _KERNEL, padding="same"),
        nn.ReLU(),
        nn.Conv2d(_CHANNELS, 2 * _CHANNELS, _KERNEL, padding="same"),
        nn.ReLU(),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(8 * _CHANNELS, 10),
    )
    _train(model, data, epochs, seed)
    if network == "attention":
        model = nn.Sequential(*(_converted(layer, alpha) for layer in model))
    layers = [layer for layer in model if isinstance(layer, ConvolutionAttention)]
    before = [layer.centres.detach().clone() for layer in layers]
    _train(model, data, more, seed + 1)
    moved = [(layer.centres.detach() - old).norm(dim=1).mean() for layer, old in zip(layers, before, strict=True)]
    with torch.no_grad():
        scores = model(held_out[0])
        return {
            "accuracy": float((scores.argmax(1) == held_out[1]).float().mean()),
            "loss": float(nn.functional.cross_entropy(scores, held_out[1])),
            "training loss": float(nn.functional.cross_entropy(model(data[0]), data[1])),
            "pixels moved": float(sum(moved) / len(moved)) if moved else 0.0,
        }


def _digits(seed: int) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Pictures (picture, 1, 8, 8) and digits, to train and to test with."""
    data = require("sklearn.datasets", extra="train").load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(seed))
    pictures = torch.from_numpy(data.images / 16).float()[order].unsqueeze(1)
    labels = torch.from_numpy(data.target)[order]
    return (pictures[HELD_OUT:], labels[HELD_OUT:]), (pictures[:HELD_OUT], labels[:HELD_OUT])


def _converted(layer: nn.Module, alpha: float) -> nn.Module:
    if isinstance(layer, nn.Conv2d):
        return ConvolutionAttention.from_conv2d(layer, alpha=alpha)
    return copy.deepcopy(layer)


def _train(model: nn.Sequential, data: tuple[Tensor, Tensor], epochs: int, seed: int) -> None:
    shuffle = torch.Generator().manual_seed(seed)
    placed = [
        parameter
        for layer in model
        if isinstance(layer, ConvolutionAttention)
        for parameter in (layer.centres, layer.log_alpha)
    ]
    others = [parameter for parameter in model.parameters() if not any(parameter is known for known in placed)]
    groups = [{"params": others}, *([{"params": placed, "lr": _POSITION_RATE}] if placed else [])]
    optimizer = torch.optim.Adam(groups, lr=_RATE)
    for _ in range(epochs):
        for batch in torch.randperm(len(data[0]), generator=shuffle).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(data[0][batch]), data[1][batch]).backward()
            optimizer.step()
