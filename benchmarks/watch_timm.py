"""What watching sees in timm's families: small models with random weights, each with and without fused attention.

    python benchmarks/watch_timm.py
    python benchmarks/watch_timm.py vit cait

It needs timm, which isn't among the package's requirements: pip install timm==1.0.31. A line says how many of the
model's attention modules were seen; the largest differences between the outputs watched and not, between what the
layers and their records give, and between the record's weights and those that timm's own modules drop from (-: none
of them has such a module); and the notes and warnings.
"""

import argparse
import warnings
from typing import Any

import torch
from torch import Tensor, nn

import regard

SMALL = {"img_size": 64, "num_classes": 3}
TRANSFORMER = {**SMALL, "embed_dim": 24, "depth": 2, "num_heads": 3}
STAGES = {**SMALL, "embed_dim": 12, "depths": (2, 2), "num_heads": (1, 2)}
LEVIT = {**SMALL, "embed_dim": (16, 24), "depth": (2, 2), "num_heads": (2, 3), "key_dim": 8}
FAMILIES = {
    "vit": ("vit_tiny_patch16_224", TRANSFORMER),
    "deit3": ("deit3_small_patch16_224", TRANSFORMER),
    "siglip": ("vit_base_patch16_siglip_224", {**TRANSFORMER, "num_classes": 0}),
    "beit": ("beit_base_patch16_224", TRANSFORMER),
    "eva02": ("eva02_tiny_patch14_224", {**TRANSFORMER, "img_size": 56}),
    "swin": ("swin_tiny_patch4_window7_224", {**STAGES, "window_size": 4}),
    "swinv2": ("swinv2_tiny_window8_256", {**STAGES, "window_size": 4}),
    "levit": ("levit_128s", LEVIT),
    "levit_conv": ("levit_conv_128s", LEVIT),
    "cait": ("cait_xxs24_224", {**TRANSFORMER, "depth_token_only": 1}),
    "coat": ("coat_tiny", {**SMALL, "embed_dims": (8, 8, 8, 8), "serial_depths": (1, 1, 1, 1), "parallel_depth": 1}),
    "convit": ("convit_tiny", {**TRANSFORMER, "embed_dim": 8, "local_up_to_layer": 1}),
    "xcit": ("xcit_nano_12_p16_224", {**TRANSFORMER}),
    "crossvit": ("crossvit_tiny_240", {"num_classes": 3}),
    "mvitv2": ("mvitv2_tiny", {"img_size": 64, "num_classes": 3}),
    "pvt_v2": ("pvt_v2_b0", {"num_classes": 3}),
    "twins": ("twins_svt_small", {"img_size": 64, "num_classes": 3}),
    "davit": ("davit_tiny", {"num_classes": 3}),
    "maxvit": ("maxvit_rmlp_pico_rw_256", {"img_size": 64, "num_classes": 3}),
    "tiny_vit": ("tiny_vit_5m_224", {"num_classes": 3}),
    "visformer": ("visformer_tiny", {"img_size": 64, "num_classes": 3}),
    "efficientformer": ("efficientformer_l1", {"num_classes": 3}),
    "mobilevit": ("mobilevit_xxs", {"num_classes": 3}),
    "volo": ("volo_d1_224", {"img_size": 64, "num_classes": 3}),
    "hiera": ("hiera_tiny_224", {"img_size": 64, "num_classes": 3}),
    "botnet": ("botnet26t_256", {"img_size": 64, "num_classes": 3}),
}
SIZES = {"eva02": 56, "crossvit": 240, "tiny_vit": 224, "efficientformer": 224}


def load_timm() -> Any:
    """Import timm, also where torchvision's operators can't be loaded, as beside a PyTorch that has no CUDA."""
    try:
        import timm
    except ModuleNotFoundError as error:
        raise SystemExit(f"{error.name} is missing: pip install timm==1.0.31 torchvision==0.28.0") from error
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
        # timm's models use none of them, but torchvision describes them to PyTorch when it is imported.
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        load_timm.library = library  # pyright: ignore[reportFunctionMemberAccess]
        import timm
    return timm


def attention_modules(model: nn.Module) -> list[str]:
    """The innermost modules whose classes are called attention."""
    words = ("Attn", "Attention", "GPSA", "MHSA")
    names = [name for name, each in model.named_modules() if any(word in type(each).__name__ for word in words)]
    return [name for name in names if not any(other.startswith(f"{name}.") for other in names)]


def own_weights(model: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """The weights of the modules that have a dropout of them, by the names of those modules."""
    found = {}

    def keep(name: str) -> Any:
        return lambda module, given: found.setdefault(name, given[0])

    dropouts = {name: each for name, each in model.named_modules() if name.rpartition(".")[2] == "attn_drop"}
    handles = [each.register_forward_pre_hook(keep(name.rpartition(".")[0])) for name, each in dropouts.items()]
    model(x)
    for handle in handles:
        handle.remove()
    return found


def difference(first: Tensor, second: Tensor) -> float:
    if first.numel() != second.numel():
        return float("nan")
    return float((first.reshape(-1) - second.reshape(-1)).abs().max())


def line(timm: Any, family: str, fused: bool) -> str:
    name, settings = FAMILIES[family]
    timm.layers.set_fused_attn(fused)
    torch.manual_seed(0)
    model = timm.create_model(name, **settings).eval()
    with torch.no_grad():
        # timm's own random weights are so small that all keys get nearly the same weight.
        for each in model.parameters():
            if each.ndim > 1:
                each.normal_(std=each[0].numel() ** -0.5)
    size = settings.get("img_size", SIZES.get(family, 64))
    x = torch.randn(2, 3, size, size)
    with torch.no_grad(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with regard.watch(model) as seen:
            output = model(x)
        changed = difference(output, model(x))
        weights = {} if fused else own_weights(model, x)
    present = attention_modules(model)
    found = [each for each in present if any(f"{other}.".startswith(f"{each}.") for other in seen.names)]
    verified = max((each for each in seen.verify().values() if each is not None), default=0.0) if seen.layers else 0.0
    compared = [difference(layer.weights(), weights[layer.name]) for layer in seen if layer.name in weights]
    figure = f"{max(compared):.1e}" if compared else "-"
    said = {f"{each.category.__name__}: {each.message}" for each in told}
    notes = {note for layer in seen for note in layer.notes} | said
    return (
        f"{family:<16}{'fused' if fused else 'plain':<7}{f'{len(found)} of {len(present)}':<10}{changed:<9.1e}"
        f"{verified:<9.1e}{figure:<9}{' | '.join(sorted(notes))}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", choices=[[], *FAMILIES], help="default: all")
    options = parser.parse_args()
    timm = load_timm()
    print(f"timm {timm.__version__}, torch {torch.__version__}")
    print(f"{'family':<16}{'':<7}{'seen':<10}{'outputs':<9}{'record':<9}{'weights':<9}notes")
    for family in options.families or FAMILIES:
        for fused in (False, True):
            print(line(timm, family, fused), flush=True)


if __name__ == "__main__":
    main()
