"""Record which operators run in PyTorch in a release of Torch-TensorRT.

``PYTHON scripts/torch_operators.py 2.14.0 WHEEL OUT.json``: PYTHON has torch and the wheels of TensorRT-RTX.
WHEEL is a folder with the unpacked wheel of the release. The script exports each operator alone.
``python scripts/torch_operators.py --join FOLDER`` merges the files of all releases into the table
``trtlint/knowledge/torch_operators.yaml``.

The table contains an operator only if it runs in PyTorch because the release has no converter for it. A
converter's validator can also cause a fallback. The table does not contain such fallbacks, because they
depend on the arguments of the operator, too.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
HEAD = """\
# Operators of exported programs that run in PyTorch, by release of Torch-TensorRT. Do not edit: the script
# scripts/torch_operators.py runs Torch-TensorRT's partition on one-operator programs and writes this file.
#
# The keys are operators of a program before decomposition. `asked` lists the tested releases (with torch
# 2.11), from https://pypi.org/project/torch-tensorrt/. `falls_back` lists the releases that have no converter
# for the operator, or for an operator that PyTorch decomposes it into. `lowered` is the operator without a
# converter.
"""


def programs(torch: Any) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Yield functions with one operator each, and example inputs. The first dimension is the batch."""
    f = torch.nn.functional
    x, y = torch.rand(4, 6, 8), torch.rand(4, 6, 8)
    image, volume = torch.rand(4, 3, 8, 8), torch.rand(4, 3, 6, 8, 8)
    square = torch.rand(4, 5, 5) + 5 * torch.eye(5)
    index = torch.zeros(4, 6, 8, dtype=torch.int64)
    unary = (
        "cumprod cumsum erfinv lgamma digamma logit sinc exp2 expm1 log1p log2 sign rsqrt frac trunc isnan "
        "isinf isfinite angle nan_to_num mish hardswish silu celu gelu softplus hardsigmoid softsign "
        "logsigmoid elu selu tanhshrink softshrink hardshrink tril triu"
    )
    for name in unary.split():
        function = getattr(torch, name, None) or getattr(f, name)
        more = (1,) if name in ("cumprod", "cumsum") else ()
        yield lambda v, function=function, more=more: function(v, *more), (x,)
    yield lambda v: f.glu(v, 1), (x,)
    yield lambda v: torch.kthvalue(v, 2, 1)[0], (x,)
    yield lambda v: torch.median(v, 1)[0], (x,)
    yield lambda v: torch.mode(v, 1)[0], (x,)
    yield lambda v: torch.sort(v, 1)[0], (x,)
    yield lambda v: torch.topk(v, 2, 1)[0], (x,)
    yield lambda v: torch.argsort(v, 1), (x,)
    yield lambda v: torch.cummax(v, 1)[0], (x,)
    yield lambda v: torch.logcumsumexp(v, 1), (x,)
    yield lambda v: torch.logsumexp(v, 1), (x,)
    yield lambda v: torch.flip(v, (1,)), (x,)
    yield lambda v: torch.roll(v, 1, 1), (x,)
    yield lambda v: torch.rand_like(v), (x,)
    yield lambda v: torch.randn_like(v), (x,)
    yield lambda v: torch.bernoulli(v), (x,)
    yield lambda v: torch.histc(v, 4), (x,)
    yield lambda v: torch.unique(v), (x,)
    yield lambda v: torch.nonzero(v), (x,)
    yield lambda v: torch.diagonal(v, 0, 1, 2), (x,)
    yield lambda v: torch.diag_embed(v), (x,)
    yield lambda v: torch.fft.rfft(v).real, (x,)
    yield lambda v: torch.fft.fft(v).real, (x,)
    yield lambda v: torch.repeat_interleave(v, 2, 1), (x,)
    yield lambda v: torch.var(v, 1), (x,)
    yield lambda v: torch.std(v, 1), (x,)
    yield lambda v: torch.prod(v, 1), (x,)
    yield lambda v: torch.norm(v, dim=1), (x,)
    yield torch.atan2, (x, y)
    yield torch.fmod, (x, y)
    yield torch.remainder, (x, y)
    yield torch.floor_divide, (x, y)
    yield torch.hypot, (x, y)
    yield torch.logaddexp, (x, y)
    yield torch.lerp, (x, y, y)
    yield lambda v, w: torch.cdist(v, w), (x, y)
    yield lambda v, w: torch.linalg.cross(v[..., :3], w[..., :3]), (x, y)
    yield lambda v, w: torch.bucketize(v, w[0, 0].sort()[0]), (x, y)
    yield lambda v, w: torch.searchsorted(w, v), (x, y.sort()[0])
    yield lambda v, w: torch.kron(v[0], w[0]), (x, y)
    yield lambda v, i: torch.gather(v, 1, i), (x, index)
    yield lambda v, i: torch.scatter(v, 1, i, 1.0), (x, index)
    yield lambda v, i: torch.scatter_add(v, 1, i, v), (x, index)
    yield lambda v, i: torch.scatter_reduce(v, 1, i, v, "amax"), (x, index)
    yield lambda v, i: torch.take_along_dim(v, i, 1), (x, index)
    yield lambda v: torch.index_select(v, 1, torch.tensor([0, 2])), (x,)
    yield lambda v: torch.index_add(v, 1, torch.tensor([0, 2]), v[:, :2]), (x,)
    yield lambda v: torch.index_copy(v, 1, torch.tensor([0, 2]), v[:, :2]), (x,)
    yield lambda v: v.masked_fill(v > 0.5, 0.0), (x,)
    yield lambda v, w: v.masked_scatter(v > 0.5, w), (x, y)
    for function in (torch.inverse, torch.det, torch.linalg.qr, torch.linalg.cholesky):
        yield lambda v, function=function: function(v)[0], (square,)
    yield lambda v: torch.linalg.svd(v)[1], (square,)
    yield lambda v: torch.linalg.eigh(v)[0], (square,)
    yield lambda v, w: torch.linalg.solve(v, w), (square, torch.rand(4, 5, 2))
    yield lambda v: f.adaptive_max_pool2d(v, 2), (image,)
    yield lambda v: f.adaptive_avg_pool2d(v, 2), (image,)
    yield lambda v: f.max_pool2d(v, 2, return_indices=True)[1], (image,)
    yield lambda v: f.max_pool2d(v, 2), (image,)
    yield lambda v: f.lp_pool2d(v, 2, 2), (image,)
    yield lambda v: f.interpolate(v, scale_factor=2, mode="bilinear", antialias=True), (image,)
    yield lambda v: f.interpolate(v, scale_factor=2, mode="bicubic", antialias=True), (image,)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        yield lambda v, mode=mode: f.interpolate(v, scale_factor=2, mode=mode), (image,)
    for mode in ("reflect", "replicate", "circular"):
        yield lambda v, mode=mode: f.pad(v, (1, 1, 1, 1), mode), (image,)
    yield lambda v, g: f.grid_sample(v, g, align_corners=False), (image, torch.rand(4, 8, 8, 2))
    yield lambda v, g: f.grid_sample(v, g, align_corners=False), (volume, torch.rand(4, 6, 8, 8, 3))
    yield lambda v: f.unfold(v, 3), (image,)
    yield lambda v: f.fold(v.reshape(4, 12, 16), (8, 8), 2, stride=2), (image,)
    yield lambda v: f.pixel_shuffle(v.repeat(1, 4, 1, 1), 2), (image,)
    yield lambda v: f.pixel_unshuffle(v, 2), (image,)
    yield lambda v: f.local_response_norm(v, 2), (image,)
    yield lambda v: f.group_norm(v, 3), (image,)
    yield lambda v: f.instance_norm(v), (image,)
    yield lambda v: f.layer_norm(v, (8,)), (x,)
    yield lambda v: f.rms_norm(v, (8,)), (x,)
    yield lambda v: f.softmax(v, 1), (x,)
    yield lambda v: f.scaled_dot_product_attention(v, v, v), (torch.rand(4, 2, 6, 8),)
    yield lambda v: torch.einsum("bij,bkj->bik", v, v), (x,)
    yield lambda v: f.one_hot(v, 5), (torch.zeros(4, 3, dtype=torch.int64),)
    yield from more_programs(torch)


def more_programs(torch: Any) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Yield functions with rare operators, and example inputs."""
    f = torch.nn.functional
    x, y = torch.rand(4, 6, 8), torch.rand(4, 6, 8)
    image, volume = torch.rand(4, 3, 8, 8), torch.rand(4, 3, 6, 8, 8)
    square = torch.rand(4, 5, 5) + 5 * torch.eye(5)
    whole = torch.randint(1, 9, (4, 6))
    unary = (
        "erf erfc i0 deg2rad nanmean nansum aminmax count_nonzero diff nanmedian amax amin argmax any all "
        "sgn square reciprocal acos asin atan acosh asinh atanh sinh cosh tan log10 relu6 threshold rrelu"
    )
    numbers = {"threshold": (0.5, 0.0)}
    for name in unary.split():
        function = getattr(torch, name, None) or getattr(f, name)
        more = numbers.get(name, ())
        yield (
            lambda v, function=function, more=more: (
                found[0] if isinstance(found := function(v, *more), tuple) else found
            ),
            (x,),
        )
    for name in (
        "xlogy",
        "copysign",
        "heaviside",
        "nextafter",
        "igamma",
        "logaddexp2",
        "maximum",
    ):
        function = getattr(torch, name)
        yield (
            lambda v, w, function=function: function(v, w),
            (x, y),
        )
    for name in ("gcd", "lcm", "bitwise_and", "bitwise_left_shift", "bitwise_right_shift"):
        function = getattr(torch, name)
        yield lambda v, w, function=function: function(v, w), (whole, whole.flip(1).contiguous())
    yield lambda v: torch.quantile(v, 0.5, 1), (x,)
    yield lambda v: torch.var_mean(v, 1)[0], (x,)
    yield lambda v: torch.renorm(v, 2, 1, 1.0), (x,)
    yield lambda v: torch.cov(v[0]), (x,)
    yield lambda v: torch.cummin(v, 1)[0], (x,)
    yield lambda v: torch.multinomial(v[0], 2), (x,)
    yield lambda v: torch.normal(v, 1.0), (x,)
    yield lambda v: v + torch.rand(4, 6, 8), (x,)
    yield lambda v: v + torch.randint(0, 4, (4, 6, 8)), (x,)
    yield lambda v: v[..., torch.randperm(8)], (x,)
    yield lambda v: torch.take(v, torch.tensor([0, 2])), (x,)
    yield lambda v: torch.tensor_split(v, 2, 1)[0], (x,)
    yield lambda v: torch.fft.irfft(torch.fft.rfft(v)), (x,)
    yield lambda v: torch.stft(v[:, 0], 4, return_complex=False, window=torch.ones(4)), (x,)
    yield lambda v, w: torch.polar(v, w).real, (x, y)
    yield lambda v, w: (torch.complex(v, w) * torch.complex(w, v)).imag, (x, y)
    for function in (
        torch.linalg.pinv,
        torch.linalg.matrix_exp,
        torch.linalg.eigvalsh,
        torch.linalg.lu_factor,
    ):
        yield lambda v, function=function: function(v)[0], (square,)
    yield lambda v: torch.linalg.slogdet(v)[1], (square,)
    yield lambda v: torch.linalg.matrix_norm(v), (square,)
    yield lambda v, w: torch.linalg.solve_triangular(v, w, upper=True), (square.triu(), torch.rand(4, 5, 2))
    yield lambda v, w: torch.linalg.lstsq(v, w)[0], (square, torch.rand(4, 5, 2))
    yield lambda v: f.max_unpool2d(*f.max_pool2d(v, 2, return_indices=True), 2), (image,)
    yield lambda v: f.fractional_max_pool2d(v, 2, output_size=3), (image,)
    yield lambda v: f.adaptive_avg_pool3d(v, 2), (volume,)
    yield lambda v: f.adaptive_avg_pool1d(v, 3), (x,)
    yield lambda v: f.avg_pool3d(v, 2), (volume,)
    yield lambda v: f.max_pool3d(v, 2), (volume,)
    yield lambda v: f.interpolate(v, scale_factor=2, mode="trilinear"), (volume,)
    yield lambda v: f.interpolate(v, scale_factor=2, mode="linear"), (x,)
    yield lambda v: f.interpolate(v, size=(5, 7), mode="area"), (image,)
    yield lambda v: f.affine_grid(v, (4, 3, 8, 8), align_corners=False), (torch.rand(4, 2, 3),)
    yield lambda v: torch.channel_shuffle(v.repeat(1, 2, 1, 1), 2), (image,)
    yield lambda v, w: f.bilinear(v, w, torch.ones(3, 8, 8)), (x, y)
    yield lambda v, w: f.cosine_similarity(v, w), (x, y)
    yield lambda v, w: f.pairwise_distance(v, w), (x, y)
    yield lambda v: f.pdist(v[0]), (x,)
    yield lambda v, w: f.mse_loss(v, w), (x, y)
    yield lambda v, w: f.smooth_l1_loss(v, w), (x, y)
    yield lambda v, w: f.kl_div(v, w), (x, y)
    yield lambda v, w: f.cross_entropy(v, w), (torch.rand(4, 6), torch.zeros(4, dtype=torch.int64))
    yield lambda v: f.embedding(v, torch.ones(9, 4)), (whole,)
    yield lambda v: f.embedding_bag(v, torch.ones(9, 4)), (whole,)
    yield lambda v: f.conv_transpose2d(v, torch.ones(3, 4, 3, 3)), (image,)
    yield lambda v: f.conv3d(v, torch.ones(4, 3, 3, 3, 3)), (volume,)
    yield lambda v: f.conv_transpose3d(v, torch.ones(3, 4, 3, 3, 3)), (volume,)
    yield lambda v: f.scaled_dot_product_attention(v, v, v), (x,)
    yield lambda v: torch.scatter_add(v, 1, torch.zeros(4, 6, 8, dtype=torch.int64), v), (x,)
    yield lambda v: torch.index_put(v, (torch.tensor([0, 0]),), v[:2], accumulate=True), (x,)
    yield lambda v: torch.where(v > 0.5)[0], (x,)
    yield lambda v: v[v > 0.5], (x,)
    yield lambda v: v.unfold(1, 2, 1), (x,)
    yield lambda v: torch.as_strided(v, (4, 3), (1, 2)), (x,)
    yield lambda v: torch.histogram(v, 4)[0], (x,)
    yield lambda v: torch.bincount(v[0]), (whole,)
    yield lambda v: torch.unique_consecutive(v), (whole,)
    yield lambda v: torch.isin(v, torch.tensor([1, 2])), (whole,)
    yield lambda v: torch.tril_indices(4, 4) + v[0, 0], (whole,)


def operators_of(torch: Any, program: Any) -> list[str]:
    """Return the aten operators of a program."""
    return [
        str(node.target)
        for node in program.graph.nodes
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)
    ]


def ask(release: str, wheel: str) -> dict[str, Any]:
    """For each operator, return the operators of its decomposition that have no converter in the release."""
    sys.path.insert(0, str(HERE))
    from trtlint.knowledge.torchreleases import torch_release
    from trtlint.torch_tensorrt import _dryrun, _stand_in

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        package = _stand_in.install(release, torch_release(release).tensorrt, [89], wheel, Path(folder))
        logging.disable(logging.CRITICAL)
        torch: Any = importlib.import_module("torch")

        found: dict[str, Any] = {}
        for function, inputs in programs(torch):
            _one(torch, package, _dryrun, function, inputs, release, found)
    return found


def _one(torch: Any, package: Any, dryrun: Any, function: Any, inputs: Any, release: str, found: Any) -> None:
    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, *values: Any) -> Any:
            return function(*values)

    answers: list[Any] = []
    try:
        program = torch.export.export(Module().eval(), inputs)
    except Exception:  # noqa: BLE001 - some operators cannot be exported by some versions of torch
        return
    operators = operators_of(torch, program)
    request = {"release": release, "options": {"min_block_size": 1, "dryrun": True}, "build": False}
    dryrun.compile_program(torch, package, request, answers.append, program)
    told = {key: value for answer in answers for key, value in answer.items()}
    if "fallbacks" not in told or not operators:
        return
    none = [each["op"] for each in told["fallbacks"] if each["reason"]["kind"] == "none"]
    found.setdefault(max(operators, key=_weight), []).append(none)


def _weight(operator: str) -> int:
    """Rank operators: operators that only move data or compute sizes rank lowest."""
    plain = (
        "getitem", "view", "select", "slice", "repeat", "reshape", "expand", "gt", "alias", "to.",
        "lift_fresh", "ones", "zeros", "arange", "complex", "broadcast_tensors", "transpose", "sort",
    )  # fmt: skip
    return 0 if any(word in operator for word in plain) else 1


def join(folder: Path) -> None:
    """Write the table of all releases to standard output."""
    files = sorted(folder.glob("*.json"), key=lambda file: [int(part) for part in file.stem.split(".")])
    table: dict[str, dict[str, Any]] = {}
    for file in files:
        for operator, answers in json.loads(file.read_text(encoding="utf-8")).items():
            row = table.setdefault(operator, {"asked": [], "falls_back": [], "lowered": ""})
            row["asked"].append(file.stem)
            if answers and all(answers):
                row["falls_back"].append(file.stem)
                row["lowered"] = answers[0][0]
    print(HEAD)
    for operator, row in sorted(table.items()):
        # On a CPU, torch uses its own attention operator. On a GPU, releases get an operator that they
        # convert.
        if row["falls_back"] and not row["lowered"].endswith("_for_cpu.default"):
            print(f"{operator}: {json.dumps(row)}")


if __name__ == "__main__":
    if sys.argv[1] == "--join":
        join(Path(sys.argv[2]))
    else:
        Path(sys.argv[3]).write_text(json.dumps(ask(sys.argv[1], sys.argv[2])), encoding="utf-8")
