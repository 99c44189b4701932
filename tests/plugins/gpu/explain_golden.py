#!/usr/bin/env python3
"""Compares what `tenon explain` says of calls on assumed GPUs with explain_golden.txt.

    explain_golden.py TENON PLUGINS DEVICES ARCHS [--update]

TENON is the command, PLUGINS the folder of built plugins, DEVICES the folder of device facts, ARCHS the built CUDA
architectures. Devices whose plugin was not built are passed over, with the reason; where none is left the script ends
with 77. --update writes the file anew, for the devices that were built; the others' lines stay.
"""

import json
import os
import subprocess
import sys
import tempfile

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "explain_golden.txt")
DEVICES = {
    "h200": ("cuda", "90"),
    "a100": ("cuda", "80"),
    "mi250x": ("hip", ""),
    "rx6800": ("hip", ""),
    "c500": ("maca", ""),
}


def norm(op, n, *more):
    return [op, f"x=64x{n}:bf16", f"weight={n}:bf16", *more, "--set", f"normalized_shape=[{n}]"]


CASES = {
    "add, dense": ["AddFwdOp", "self=64x4096:bf16", "other=64x4096:bf16"],
    "add, offset by one element": ["AddFwdOp", "self=64x4096:bf16+1", "other=64x4096:bf16"],
    "add, broadcast": ["AddFwdOp", "self=64x4096:bf16", "other=4096:bf16"],
    "add, int32": ["AddFwdOp", "self=4096:i32", "other=4096:i32"],
    "add, float64": ["AddFwdOp", "self=4096:f64", "other=4096:f64"],
    "mul, dense": ["MulFwdOp", "self=64x4096:f16", "other=64x4096:f16"],
    "mul, every other element": ["MulFwdOp", "self=64x4096:f16/2", "other=64x4096:f16"],
    "gelu, dense": ["GeluFwdOp", "x=64x4096:f32"],
    "gelu, transposed": ["GeluFwdOp", "x=64x4096:f32^1,0"],
    "copy, dense": ["CopyFwdOp", "x=64x4096:i8"],
    "copy, transposed": ["CopyFwdOp", "x=64x4096:i8^1,0"],
    "cast, dense": ["CastFwdOp", "x=64x4096:f32", "--set", "to=bfloat16"],
    "cast, transposed": ["CastFwdOp", "x=64x4096:i64^1,0", "--set", "to=float8_e4m3fn"],
    "cast, offset by one element": ["CastFwdOp", "x=4096:bool+1", "--set", "to=float32"],
    "rms_norm, rows that fit": norm("RMSNormFwdOp", 4096),
    "rms_norm, rows that do not fit": norm("RMSNormFwdOp", 131072),
    "rms_norm, odd rows": norm("RMSNormFwdOp", 4097),
    "layer_norm, rows that fit": norm("LayerNormFwdOp", 4096, "bias=4096:bf16"),
    "layer_norm, odd rows": norm("LayerNormFwdOp", 1001, "bias=1001:bf16"),
    "softmax, rows that fit": ["SoftmaxFwdOp", "x=64x4096:bf16"],
    "softmax, long rows": ["SoftmaxFwdOp", "x=4x128256:bf16"],
    "softmax, odd rows": ["SoftmaxFwdOp", "x=4x1001:bf16"],
    "softmax, middle axis": ["SoftmaxFwdOp", "x=8x1000x17:f32", "--set", "dim=1"],
    "sum, last axis": ["SumFwdOp", "x=2048x4096:bf16", "--set", "dim=[-1]"],
    "sum, first axis": ["SumFwdOp", "x=2048x4096:bf16", "--set", "dim=[0]"],
    "matmul, dense": ["MatMulFwdOp", "a=64x128:bf16", "b=128x256:bf16"],
    "matmul, transposed": ["MatMulFwdOp", "a=64x128:bf16", "b=128x256:bf16^1,0"],
    "matmul, no terms": ["MatMulFwdOp", "a=64x0:bf16", "b=0x256:bf16"],
}


def why(candidate):
    reason = candidate.get("reason") or {}
    if candidate["verdict"] == "outranked":
        return "by " + str(candidate.get("by"))
    return reason.get("text", "")


def explain(tenon, plugins, kind, facts, arguments):
    """What the device's own plugin says, as lines."""
    command = [tenon, "explain", *arguments, "--assume", facts, "--json"]
    for name in ("cpu", kind):
        command += ["--plugin-path", os.path.join(plugins, f"{name}.tenon.so")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
    with tempfile.TemporaryDirectory() as nowhere:  # in place of the folders that the command looks in by itself
        environment["TENON_PLUGIN_PATH"] = nowhere
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    report = json.loads(done.stdout)
    lines = []
    for step in report["steps"]:
        lines.append(f"  winner: {step['winner']}")
        for candidate in sorted(step["candidates"], key=lambda each: (each["round"], each["key"])):
            if candidate["plugin"] == kind:
                text = f"  {candidate['key']}: {candidate['verdict']} {why(candidate)}".rstrip()
                if text not in lines:
                    lines.append(text)
    return lines


def read_golden():
    """Lines of the file by their heading."""
    sections = {}
    heading = None
    if os.path.exists(GOLDEN):
        with open(GOLDEN, encoding="utf-8") as file:
            for line in file.read().splitlines():
                if line.startswith("["):
                    heading = line
                    sections[heading] = []
                elif line and heading:
                    sections[heading].append(line)
    return sections


def main():
    tenon, plugins, devices, archs = sys.argv[1:5]
    built = archs.replace("-real", "").replace("-virtual", "").split(";")
    golden = read_golden()
    wrong = compared = 0
    for device, (kind, arch) in DEVICES.items():
        if not os.path.exists(os.path.join(plugins, f"{kind}.tenon.so")):
            print(f"{device}: passed over, the plugin {kind} was not built")
            continue
        if arch and arch not in built:
            print(f"{device}: passed over, {kind} was built for {archs}")
            continue
        for name, arguments in CASES.items():
            heading = f"[{device}] {name}"
            lines = explain(tenon, plugins, kind, os.path.join(devices, f"{device}.json"), arguments)
            if kind == "cuda" and any("needs cuBLASLt" in line for line in lines):
                print(f"{heading}: passed over, this machine has no cuBLASLt")
                continue
            compared += 1
            if "--update" in sys.argv:
                golden[heading] = lines
            elif golden.get(heading) != lines:
                wrong += 1
                print(f"{heading}\n expected:", *golden.get(heading, ["nothing"]), "found:", *lines, sep="\n")
    if "--update" in sys.argv:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            for device in DEVICES:
                for name in CASES:
                    heading = f"[{device}] {name}"
                    if heading in golden:
                        file.write("\n".join([heading, *golden[heading], "", ""]))
    print(f"{compared} explanations compared, {wrong} differ")
    sys.exit(77 if compared == 0 else 1 if wrong else 0)


main()
