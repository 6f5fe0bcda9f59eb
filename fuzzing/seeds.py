"""Small seed files of kinds that the repository does not contain."""

from __future__ import annotations

import json

CONFIGURATIONS = (
    b"""select = ["ACC", "PERF101"]
extend-select = ["BLD"]
ignore = ["PORT"]
fail-on = "warning"
min-confidence = "medium"
plugins = ["efficientNMS"]

[target]
trt = "10.7..10.9"
gpu = "L4"
fp16 = true

[severity]
ACC = "note"
""",
    b"""rules = ["house"]
baseline = "base.json"

[[models]]
path = ["**/*.onnx", "a/*b/?.onnx"]
target = [{ trt = ["10.7", "8.6"], gpu = "sm89" }, { rtx = "1.7", strongly-typed = true }]
fail-on = "never"

[[suppress]]
rule = "ACC102"
module = "blocks.*"
path = "*.onnx"
reason = "measured"
expires = 2027-03-31
""",
    b"",
)

TRITON = (
    b"""name: "norm"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16, 64 ] }, { name: "ids" data_type: TYPE_INT64 dims: -1 } ]
output { name: "y" data_type: TYPE_FP16 dims: [ 1024 ] reshape { shape: [ 16, 64 ] } }
# what is not read is skipped
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }
instance_group [ { kind: KIND_GPU count: 2 } ]
optimization { execution_accelerators {
  gpu_execution_accelerator : [ {
    name : "tensorrt"
    parameters { key: "precision_mode" value: "FP16" }
    parameters { key: "trt_profile_min_shapes" value: "x:1x16x64,ids:1x1" }
    parameters { key: "trt_profile_max_shapes" value: "x:8x16x64" }
  } ]
}}
""",
    b"""backend: "tensorrt"
default_model_filename: "model.onnx"
input { name: "x" data_type: TYPE_BF16 dims: [ ] allow_ragged_batch: true optional: true }
""",
)

_KNOWN = [
    {
        "model": "model.onnx",
        "rule": rule,
        "fingerprint": f"{number:016x}",
        "module": module,
        "node": "/a/MatMul",
    }
    for number, (rule, module) in enumerate((("ACC102", "blocks.0"), ("ACC102", None), ("OLD900", "head")))
]
BASELINES = (
    json.dumps({"schema": "trtlint.baseline/1", "entries": _KNOWN}, indent=1).encode(),
    b'{"schema": "trtlint.baseline/1", "entries": []}',
)

_SITE = {"node": "/a/MatMul", "op": "MatMul", "tensor": "a", "max_abs": 7e4, "low": -1.0, "high": 7e4}
MEASUREMENTS = (
    json.dumps(
        {
            "schema": "trtlint.measure/1",
            "model": {"path": "model.onnx", "digest": "0" * 64},
            "inputs": {"files": ["calib.npz"], "digest": "1" * 64, "batches": 3, "made_up": False},
            "type": "fp16",
            "typed": False,
            "rehearsed": True,
            "bound": 0.01,
            "sites": [
                {
                    **_SITE,
                    "fp16": "overflow",
                    "origin": True,
                    "narrow": True,
                    "inside": [{"what": "sum of squares", "max_abs": 1e9}],
                    "closer": {"smallest": 1e-9, "beyond": 0.25, "vanishing": 0.0},
                },
                {**_SITE, "node": "", "fp16": "ok", "origin": False, "narrow": False},
            ],
            "outputs": [{"name": "y", "error_fp16": None, "error_unclamped": 0.5, "finite_fp32": True}],
            "first_not_finite": ["/a/MatMul"],
            "keep_fp32": ["/a/MatMul"],
            "kept": {"error_fp16": 0.001, "runs": 4, "verified": True},
            "limits": [],
        },
        indent=1,
    ).encode(),
)
