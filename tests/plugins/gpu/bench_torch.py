#!/usr/bin/env python3
"""PyTorch's times of the rows that tenon_gpu_bench times: eager in a CUDA graph and compiled, on buffers that
rotate through more than the cache, by device events around graph replays. One line of JSON for each."""

import json
import sys

import torch
import torch.nn.functional as F

ROTATE_BYTES = 256 << 20
FEWEST_CALLS = 20
REPLAYS = 15


def rows():
    """Name, shapes of the inputs, function of them, and their dtype where it is not bfloat16."""
    for m, n in [(1, 4096), (2048, 4096), (32768, 4096), (32768, 16384)]:
        yield f"rms_norm {m}x{n}", [(m, n), (n,)], lambda x, w: F.rms_norm(x, (x.shape[-1],), w, 1e-6)
    for m, n in [(2048, 4096), (32768, 4096)]:
        yield f"layer_norm {m}x{n}", [(m, n), (n,), (n,)], lambda x, w, b: F.layer_norm(x, (x.shape[-1],), w, b)
    for m, n in [(32768, 1024), (32768, 4096), (4, 128256)]:
        yield f"softmax {m}x{n}", [(m, n)], lambda x: F.softmax(x, -1)
    yield "sum 2048x4096 last", [(2048, 4096)], lambda x: x.sum(-1)
    yield "sum 2048x4096 first", [(2048, 4096)], lambda x: x.sum(0)
    yield "add 67108864", [(67108864,), (67108864,)], lambda x, y: x + y
    yield "gelu 67108864", [(67108864,)], lambda x: F.gelu(x)
    yield "copy 67108864", [(67108864,)], lambda x: x.clone()
    for source, target in [("float32", "bfloat16"), ("bfloat16", "float32"), ("bfloat16", "float8_e4m3fn")]:
        yield (f"cast 67108864 {source} to {target}", [(67108864,)],
               lambda x, dtype=getattr(torch, target): x.to(dtype), getattr(torch, source))
    for m, n, k in [(4096, 4096, 4096), (8192, 8192, 8192), (2048, 14336, 4096), (1, 4096, 4096), (16, 4096, 4096)]:
        yield f"gemm NT {m}x{n}x{k}", [(m, k), (n, k)], lambda a, b: a @ b.t()


def time_replays(function, sets):
    """Median microseconds of a call."""
    calls = max(FEWEST_CALLS, len(sets))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for arguments in sets[:2]:
            function(*arguments)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        # What a call allocates is freed before the next: the graph's pool gives it out again.
        with torch.cuda.graph(graph, stream=stream):
            for i in range(calls):
                kept = function(*sets[i % len(sets)])
                del kept
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        times = []
        for replay in range(REPLAYS + 3):
            start.record(stream)
            graph.replay()
            stop.record(stream)
            stream.synchronize()
            if replay >= 3:
                times.append(start.elapsed_time(stop) * 1e3 / calls)
    times.sort()
    return times[len(times) // 2]


def main():
    print(json.dumps({"torch": torch.__version__, "card": torch.cuda.get_device_name()}))
    with torch.inference_mode():
        for name, shapes, function, *dtype in rows():
            dtype = dtype[0] if dtype else torch.bfloat16
            size = sum(dtype.itemsize * torch.Size(shape).numel() for shape in shapes)
            count = max(2, min(64, ROTATE_BYTES // max(size, 1)))
            sets = [[torch.randn(shape, device="cuda", dtype=dtype) for shape in shapes] for _ in range(count)]
            result = {"row": name, "eager_us": round(time_replays(function, sets), 2)}
            if "--no-compile" not in sys.argv and not name.startswith("gemm"):
                try:
                    torch._dynamo.reset()
                    result["compiled_us"] = round(time_replays(torch.compile(function, dynamic=False), sets), 2)
                except Exception as error:  # what the compiler says is part of the result
                    result["compile_error"] = str(error)[:200]
            print(json.dumps(result), flush=True)
            del sets
            torch.cuda.empty_cache()


main()
