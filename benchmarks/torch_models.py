"""Layers and whole models with random weights, for benchmarks that run in a Python with torch."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

Case = tuple[str, Any, tuple[Any, ...]]
"""Name, module, and example inputs whose first size is the batch."""


def layers(torch: Any) -> Iterator[Case]:
    """Yield layers of torch."""
    nn: Any = torch.nn
    row, image = torch.rand(4, 6, 8), torch.rand(4, 8, 12, 12)
    ids = torch.ones(4, 6, dtype=torch.int64)

    class First(torch.nn.Module):  # type: ignore[misc]
        """A layer that returns only the first value of a tuple."""

        def __init__(self, inner: Any, times: int) -> None:
            super().__init__()
            self.inner, self.times = inner, times

        def forward(self, v: Any) -> Any:
            return self.inner(*[v] * self.times)[0]

    yield "lstm", First(nn.LSTM(8, 8, batch_first=True), 1), (row,)
    yield "gru", First(nn.GRU(8, 8, batch_first=True), 1), (row,)
    yield "attention", First(nn.MultiheadAttention(8, 2, batch_first=True), 3), (row,)
    yield "encoder", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (row,)
    yield "batchnorm", nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), (image,)
    yield "depthwise", nn.Conv2d(8, 8, 3, groups=8), (image,)
    yield "transposed", nn.ConvTranspose2d(8, 4, 3, stride=2), (image,)
    yield "prelu", nn.PReLU(), (image,)
    yield "embedding", nn.Embedding(9, 8), (ids,)
    yield "bag", nn.EmbeddingBag(9, 8), (ids,)
    yield "maxpool", nn.MaxPool2d(3, 2, ceil_mode=True), (image,)
    yield "unpadded", nn.AvgPool2d(3, 2, 1, count_include_pad=False), (image,)


def models(torch: Any) -> Iterator[Case]:
    """Yield ten models from timm, transformers and torch."""
    torch.manual_seed(0)
    nn = torch.nn
    image = torch.rand(1, 3, 64, 64)
    timm: Any = importlib.import_module("timm")
    for name in ("resnet18", "mobilenetv3_small_050", "convnext_atto", "efficientnet_b0"):
        yield f"timm-{name}", timm.create_model(name, pretrained=False), (image,)
    yield (
        "timm-vit",
        timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=64, depth=2),
        (image,),
    )
    yield from _language_models(torch)
    yield "torch-unet", _unet(nn), (image,)
    yield "torch-tagger", _Tagger.of(torch), (torch.ones(1, 12, dtype=torch.int64),)


def _language_models(torch: Any) -> Iterator[Case]:
    library: Any = importlib.import_module("transformers")
    ids = torch.ones(1, 12, dtype=torch.int64)
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 32, "intermediate_size": 64}
    bert = library.BertConfig(vocab_size=100, **sizes)
    llama = library.LlamaConfig(vocab_size=100, num_key_value_heads=1, use_cache=False, **sizes)
    swin = library.SwinConfig(image_size=64, embed_dim=24, depths=[2, 2], num_heads=[2, 2], window_size=4)

    class Values(torch.nn.Module):  # type: ignore[misc]
        """A model that returns only its first result."""

        def __init__(self, inner: Any) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, v: Any) -> Any:
            return self.inner(v, return_dict=False)[0]

    yield "transformers-bert", Values(library.BertModel(bert)), (ids,)
    yield "transformers-llama", Values(library.LlamaModel(llama)), (ids,)
    yield "transformers-swin", Values(library.SwinModel(swin)), (torch.rand(1, 3, 64, 64),)


def _unet(nn: Any) -> Any:
    def block(first: int, last: int) -> Any:
        return nn.Sequential(nn.Conv2d(first, last, 3, padding=1), nn.GroupNorm(4, last), nn.SiLU())

    return nn.Sequential(
        block(3, 8),
        nn.MaxPool2d(2),
        block(8, 16),
        nn.Upsample(scale_factor=2, mode="bilinear"),
        block(16, 8),
        nn.Conv2d(8, 1, 1),
        nn.Sigmoid(),
    )


class _Tagger:
    """A tagger with operators in the middle that fall back to PyTorch."""

    @staticmethod
    def of(torch: Any) -> Any:
        """Return the module."""

        class Tagger(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.table = torch.nn.Embedding(50, 16)
                self.first, self.last = torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)

            def forward(self, v: Any) -> Any:
                v = torch.relu(self.first(self.table(v)))
                v = torch.tanh(torch.nn.functional.gelu(v)) * 2 + 1
                v = torch.cumprod(torch.sigmoid(v), 1)
                v = torch.softmax(self.last(torch.relu(v * 3 - 1)), -1)
                return torch.kthvalue(v, 1, -1)[0]

        return Tagger()
