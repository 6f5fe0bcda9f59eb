"""Check the rules about calls of Torch-TensorRT against its releases.

``python -m benchmarks.torch_calls PYTHON WHEELS``: PYTHON has torch and the wheels of TensorRT-RTX. WHEELS
contains an unpacked wheel of each release (``WHEELS/2.14.0/torch_tensorrt``). Each call runs in each release
until the compiler has made its settings; no GPU is needed. The command prints each call for which a rule and
the release disagree about an error or an ignored argument.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from trtlint.knowledge.torchreleases import torch_releases

CALLS = (
    "enabled_precisions={torch.float16}",
    "enabled_precisions={torch.float32}",
    "enabled_precisions={torch.float16}, use_explicit_typing=True",
    "enabled_precisions={torch.float16}, use_explicit_typing=False",
    "make_refittable=True",
    "make_refittable=False, immutable_weights=False",
    "refit=True",
    "refit_identical_engine_weights=True",
    "refit_identical_engine_weights=True, immutable_weights=False",
    "enable_weight_streaming=True",
    "enable_weight_streaming=True, use_explicit_typing=True",
    "enable_weight_streaming=True, use_explicit_typing=True, immutable_weights=False",
    "enable_autocast=True, autocast_low_precision_type=torch.float16",
    "debug=True",
    "use_python_runtime=True",
    "truncate_long_and_double=True",
    "truncate_long_and_double=True, truncate_double=True",
    "truncate_long_and_double=True, truncate_double=False",
    "min_blocksize=3",
    "decompose_attention=True",
    "fallback_data_dependent_ops=True, require_full_compilation=True",
    "optimization_level=3, workspace_size=1 << 20",
)
"""Arguments of ``torch_tensorrt.compile(net, ir="dynamo", inputs=[x], ...)``."""
ERRORS = {"TTR101", "TTR107", "TTR108", "TTR109", "TTR110", "TTR117"}
LOST = {"TTR102", "TTR103", "TTR104", "TTR105", "TTR106"}
CHILD = """
import json, logging, sys, tempfile, warnings
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from trtlint.torch_tensorrt._stand_in import install
warnings.simplefilter("ignore")
folder = tempfile.mkdtemp()
torch_tensorrt = install(sys.argv[2], sys.argv[3], [89], sys.argv[4], Path(folder))
logging.disable(logging.CRITICAL)
import torch
import torch_tensorrt.dynamo._compiler as compiler
seen = {}
real = compiler.compile_module
def made(gm, args, kwargs=None, settings=None, *rest, **more):
    seen.update(vars(settings))
    if settings.__dict__.get("fallback_data_dependent_ops") and settings.require_full_compilation:
        return real(gm, args, kwargs, settings, *rest, **more)
    return gm
compiler.compile_module = made
net, x = torch.nn.Linear(4, 4).eval(), torch.randn(2, 4)
device = torch_tensorrt.Device("cuda:0")
answers = []
for call in json.loads(sys.argv[5]):
    given = eval(f"dict({call})")
    seen.clear()
    try:
        torch_tensorrt.compile(net, ir="dynamo", inputs=[x], device=device, **given)
        error = ""
    except Exception as problem:
        error = type(problem).__name__
    read = {name: name in seen for name in given}
    answers.append({"error": error, "read": read})
print("ANSWERS" + json.dumps(answers))
"""
ALIASES = {"make_refittable", "refit", "truncate_long_and_double"}
"""Arguments that the compiler reads under another name."""


def predicted(call: str, release: str) -> set[str]:
    """Return the rules that fire on a call."""
    from trtlint import lint

    text = f"import torch, torch_tensorrt\nm = torch_tensorrt.compile(net, ir='dynamo', inputs=[x], {call})\n"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "call.py")
        file.write_text(text, encoding="utf-8")
        findings = lint(file, torch_tensorrt=release).models[0].findings
    return {finding.rule for finding in findings}


def main(python: str, wheels: str) -> int:
    """Print the disagreements, and return how many there are."""
    root = str(Path(__file__).resolve().parents[1])
    count = wrong = 0
    for release in (each for each in torch_releases() if Path(wheels, each.version).is_dir()):
        command = [
            python,
            "-c",
            CHILD,
            root,
            release.version,
            release.tensorrt,
            f"{wheels}/{release.version}",
            json.dumps(CALLS),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        found = [line for line in done.stdout.splitlines() if line.startswith("ANSWERS")]
        if not found:
            print(f"{release.version}: could not ask: {done.stderr.strip().splitlines()[-1:]}")
            wrong += len(CALLS)
            continue
        for call, answer in zip(CALLS, json.loads(found[0].removeprefix("ANSWERS")), strict=True):
            count += 1
            said = predicted(call, release.version)
            expected = bool(said & ERRORS)
            if expected != bool(answer["error"]):
                wrong += 1
                print(f"{release.version}: {call}: {answer['error'] or 'no error'}, rules {sorted(said)}")
            if answer["error"]:
                continue
            lost = {name for name, read in answer["read"].items() if not read} - ALIASES
            silent = bool(said & LOST)
            # A module in FP32 runs in FP32 even if the release ignores the argument.
            if bool(lost) != silent and call != "enabled_precisions={torch.float32}":
                wrong += 1
                print(f"{release.version}: {call}: lost {sorted(lost)}, rules {sorted(said)}")
    print(f"{count} calls, {wrong} disagreements")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:3])))
