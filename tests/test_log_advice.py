"""What the rules on logs advise: the remedy of the thread, in the words of the program that wrote the log."""

# ruff: noqa: E501 (lines of logs are quoted whole)

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inprocess import printed

NO_KERNEL = "[E] IBuilder::buildSerializedNetwork: Error Code 10: Internal Error (Could not find any implementation for node /a/Conv.)"
CRASHED = "[ERROR] [bevfusion_node-1]: process has died [pid 9, exit code -11, cmd 'node']."
NO_FLAG = "AttributeError: type object 'tensorrt_bindings.tensorrt.BuilderFlag' has no attribute 'FP16'"
FULL = "[TRT] [W] Tactic Device request: 600MB Available: 302MB. Device memory is insufficient to use tactic."
TOO_NEW = "[TRT] [E] Error Code 6: API Usage Error (Unable to load library: libnvinfer_builder_resource_win.so.10.2.0: libnvinfer_builder_resource_win.so.10.2.0: cannot open shared object file: No such file or directory)"
NO_PTX = "  what():  cudaErrorUnsupportedPtxVersion (222)@a.cpp#L222: the provided PTX was compiled with an unsupported toolchain."
KEPT = "Python exception: trtexec execution fails, log has been written to a.log"
EMPTY = "[TRT] [E] Error Code 3: API Usage Error (Parameter check failed, condition: !weights.values == !weights.count. )"
STAT = "ERROR: infer_trtis_server.cpp:994 Triton: failed to create repo server, err_msg:failed to stat file /tmp/models"
CLIPPED = "[W] [TRT] (Unnamed Layer* 18) [Constant] [CONSTANT] contains out-of-range weights when cast to BFloat16, clipping to +/- 3.38953e+38."


@pytest.mark.parametrize(
    ("lines", "told", "untold"),
    [
        # https://github.com/linClubs/BEVFusion-ROS-TensorRT/issues/19: a crash, and no lack of memory
        ((CRASHED,), "gdb's backtrace", "host memory"),
        (("Killed",), "host memory", "gdb"),
        # https://github.com/yuvraj108c/ComfyUI-Rife-Tensorrt/issues/25
        ((NO_FLAG,), "tensorrt<11", "num_io_tensors"),
        # https://github.com/ultralytics/ultralytics/issues/22271
        ((FULL,), "only 302 MB free for 600 MB", "--memPoolSize"),
        # https://github.com/replicate/cog-triton/issues/51
        ((TOO_NEW,), "tensorrt==10.2.0.post1", "ldd"),
        # https://github.com/autowarefoundation/autoware/issues/6434
        ((NO_PTX,), "Update the driver", "docker run"),
        # https://github.com/AmusementClub/vs-mlrt/issues/89
        ((KEPT,), "trtlint a.log", "does not contain the reason"),
        # https://github.com/pytorch/TensorRT/issues/3124
        ((EMPTY,), "a constant without elements", "does not contain the reason"),
        # https://github.com/NVIDIA-ISAAC-ROS/isaac_ros_dnn_inference/issues/35
        ((STAT,), "model_repository_paths", "does not contain the reason"),
        # https://github.com/nvidia-holoscan/holohub/issues/1570
        ((CLIPPED,), "in a mask, where it has no effect", "--bf16"),
        # https://github.com/yuvraj108c/ComfyUI-Upscaler-Tensorrt/issues/36
        ((NO_KERNEL, "[!] Invalid Engine."), "G_LOGGER.module_severity", "trtexec --verbose"),
    ],
)
def test_advice(tmp_path: Path, lines: tuple[str, ...], told: str, untold: str) -> None:
    (tmp_path / "build.log").write_text("\n".join(["TensorRT", *lines, ""]), "utf-8")
    found = printed(tmp_path, "--isolated", "--no-cache", "--format", "json", "build.log").out
    assert told in found
    assert untold not in found
