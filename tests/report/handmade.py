"""Handmade reports and a small model for tests of rendering."""

from __future__ import annotations

from msgspec.structs import replace

from trtlint.engine.finding import Finding, ModelReport, Report, Row, Site
from trtlint.files.problem import Problem
from trtlint.model.source import Source

CHAIN = """<ir_version: 8, opset_import: ["" : 17, "com.x" : 1]>
    g (float[4] x) => (float[4] y) <float s = {0.5}> {
        [one] a = Mul(x, s)
        [two] b = Exp(a)
        [three] c = Sin(b)
        [four] d = Cos(c)
        [five] e = Abs(d)
        [six] y = Neg(e)
    }"""


def site(block: int, prefix: str = "") -> Site:
    """Return an attention block with its scale on both operands."""
    root = f"{prefix}/blocks.{block}/attn"
    return Site(
        node=f"{root}/MatMul",
        op="MatMul",
        module=f"blocks.{block}.attn",
        source=Source("net/attention.py", 57, "forward"),
        rows=(
            Row(f"{root}/Mul", "Mul", "f32[1,8,197,64]", "q × 0.3536", "√scale on Q"),
            Row(f"{root}/Mul_1", "Mul", "f32[1,8,64,197]", "kᵀ × 0.3536", "√scale on K"),
            Row(f"{root}/MatMul", "MatMul", "f32[1,8,197,197]"),
            Row(f"{root}/Softmax", "Softmax", "f32[1,8,197,197]"),
        ),
        fingerprint=f"00000000000000{block:02x}",
    )


SCALE = Finding(
    rule="ACC102",
    name="sdpa-scale-on-both-operands",
    severity="error",
    confidence="high",
    evidence_level="maintainer-confirmed",
    message="the attention scale is split over Q and K (0.3536 and 0.3536); TensorRT 10.7 fuses this wrongly",
    sites=tuple(site(block) for block in range(12)),
    applies="TensorRT 10.7",
    advice=("Upgrade to TensorRT 10.8 or newer, or put the whole scale 0.125 on Q.",),
    references=("https://github.com/NVIDIA/TensorRT/issues/4333",),
    fingerprint="a000000000000001",
)

CLIP = Finding(
    rule="ACC104",
    name="tf32-conv-clip",
    severity="note",
    confidence="medium",
    evidence_level="user-reported",
    message="an FP32 convolution is followed by clip-like bounds while TF32 is on",
    sites=(
        Site(
            node="n7",
            op="Conv",
            module=None,
            source=None,
            rows=(
                Row("n7", "Conv", "f32[1,32,56,56]"),
                Row("n8", "Clip", "f32[1,32,56,56]", "0 to 6", "clip"),
            ),
            fingerprint="0000000000000aaa",
        ),
    ),
    applies="TensorRT 8.6 or newer, SM 8.0 or newer",
    advice=("Build with --noTF32.", "Or leave the clip to the caller."),
    references=(),
    fingerprint="a000000000000002",
    said=("node n7: f32[1,32,56,56]",),
)

FLAG = replace(
    CLIP,
    rule="ACC101",
    name="fp16-decomposed-norm",
    severity="warning",
    confidence="low",
    message="the variance of a layer normalization is computed in FP16",
    depends=("--fp16",),
    fingerprint="a000000000000003",
)
GPU = replace(FLAG, rule="ACC199", name="gpu-only", depends=("--gpu",), fingerprint="a000000000000004")


def one_model() -> Report:
    """Return one model with an error, a note and three conditional findings."""
    model = ModelReport(
        path="vit.onnx",
        target="TensorRT 10.7",
        findings=(SCALE, CLIP),
        conditional=(FLAG, replace(FLAG, fingerprint="a000000000000005"), GPU),
        notes=("the external data file vit.data is missing",),
    )
    return Report((model,))


def clean_model(path: str = "clean.onnx", target: str = "TensorRT 10.7") -> ModelReport:
    """Return a model without findings."""
    return ModelReport(path=path, target=target)


def unreadable(path: str = "broken.onnx") -> ModelReport:
    """Return a file that is not a model."""
    problem = Problem(path, "the file ends within a field", offset=117)
    return ModelReport(path=path, target="TensorRT 10.7", errors=(problem,))


def several_targets() -> Report:
    """Return one model for three targets, with one removed and one new finding."""
    later = replace(CLIP, advice=("From 11.0: cast to FP32.",))
    return Report(
        tuple(
            ModelReport(path="vit.onnx", target=f"TensorRT {version}, SM 8.9 (L4)", findings=findings)
            for version, findings in (
                ("10.6", (CLIP,)),
                ("10.7", (SCALE, CLIP)),
                ("10.8", (CLIP,)),
                ("11.0", (later, replace(FLAG, depends=()))),
            )
        )
    )


def hostile() -> Report:
    """Return a report with names that clear the screen, reverse text or look like markup."""
    name = "/a\x1b[2J/[bold red]x[/]\n\u202eMul\x07"
    nasty = replace(
        SCALE,
        message=f"bad {name}",
        sites=(
            Site(
                node=name,
                op="Mul",
                module="m\x1b]0;t\x07",
                source=Source("net/\x1b[1mx.py", 3, "[bold]f"),
                rows=(Row(name, "Mul", "f32[\x1b[0m]", "\r\n", "[/]label"),),
                fingerprint="0000000000000bbb",
            ),
        ),
    )
    return Report((ModelReport("dir\x1b[1m/\ud800.onnx", "TensorRT 10.7", findings=(nasty,)),))
