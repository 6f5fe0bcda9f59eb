"""A small transformer encoder. trtlint reports a finding at a line of this file."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import nn


class Attention(nn.Module):
    """Multi-head self-attention."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend within ``x``, which is (batch, tokens, width)."""
        batch, tokens, width = x.shape
        qkv = self.qkv(x).reshape(batch, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(batch, tokens, width))


class Encoder(nn.Module):
    """Attention blocks, each with a residual connection."""

    def __init__(self, width: int = 32, heads: int = 2, depth: int = 2) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Attention(width, heads) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Encode ``x``, which is (batch, tokens, width)."""
        for block in self.blocks:
            x = x + block(x)
        return x
