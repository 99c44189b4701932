#!/usr/bin/python3
"""Compares what `tenon run` gives on kind cpu with NumPy's long double, through .npy files.

float16, bfloat16 and float32 results must be within 1 unit in the last place of the float64 result rounded
once; float64 results within the bounds of the conformance property V1; integers and copies bit-equal.

Usage: check_numpy.py TENON [--op OP]... [--keep DIR] [-- ARGUMENT...]
       TENON     path of the tenon executable
       --op      only this op; repeatable
       --keep    leaves the .npy files in DIR
       ARGUMENT  handed to every run, such as --plugin-path PATH or --set-config KEY=VALUE
Exit:  0 every case is right, 1 some are not, 2 wrong usage, 77 NumPy is not installed
"""
import argparse
import math
import os
import shlex
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed", file=sys.stderr)
    sys.exit(77)

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
LONG = np.longdouble
PI = LONG("3.14159265358979323846264338327950288")
RANDOM = np.random.default_rng(20240607)


# ---- Formats -----------------------------------------------------------------------------------

def bfloat16_bits(values):
    """Rounds float64 to bfloat16 once, to nearest even, as uint16 patterns."""
    shape = np.shape(values)
    values = np.asarray(values, dtype=np.float64).reshape(-1)  # of rank 0, NumPy would make Python numbers
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    back = bits.view(np.float32).astype(np.float64)
    # To odd first: towards zero, the last bit set where anything was lost. So no tie is a false one.
    away = (np.abs(back) > np.abs(values)).astype(np.uint32)
    lost = ((back != values) & ~np.isnan(values)).astype(np.uint32)
    odd = (bits - away) | lost
    rounded = ((odd.astype(np.uint64) + 0x7FFF + ((odd >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).reshape(shape)


def from_bfloat16(bits):
    flat = np.asarray(bits, dtype=np.uint16).reshape(-1).astype(np.uint32)
    return (flat << 16).view(np.float32).reshape(np.shape(bits))


def round_once(values, dtype):
    """long double -> float64 -> dtype: the float64 result, rounded once. bfloat16 as patterns."""
    with np.errstate(over="ignore", invalid="ignore"):
        wide = np.asarray(values).astype(np.float64)
        if dtype == "bfloat16":
            return bfloat16_bits(wide)
        return np.asarray(wide.astype(dtype))


def widen(array, dtype):
    return (from_bfloat16(array) if dtype == "bfloat16" else array).astype(LONG)


def order(array):
    """Patterns as integers in which neighbouring values differ by 1."""
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize]
    width = array.dtype.itemsize * 8
    bits = array.reshape(-1).view(unsigned).astype(np.uint64)
    magnitude = (bits & np.uint64((1 << (width - 1)) - 1)).astype(np.int64)
    return np.where(bits >> np.uint64(width - 1) != 0, -magnitude, magnitude).reshape(array.shape)


def made(shape, dtype, scale=1.0):
    """Random contents of a dtype; bfloat16 as patterns."""
    if dtype == "bool":
        return RANDOM.integers(0, 2, shape).astype(np.bool_)
    if dtype.startswith("complex"):
        return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(dtype)
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        return RANDOM.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return round_once(RANDOM.normal(size=shape) * scale, dtype)


# ---- Oracles, in long double -------------------------------------------------------------------

def rms_norm(x, axes, eps, weight):
    mean = np.mean(x * x, axis=axes, keepdims=True)
    out = x / np.sqrt(mean + LONG(eps))
    return out if weight is None else out * weight


def layer_norm(x, axes, eps, weight, bias):
    centred = x - np.mean(x, axis=axes, keepdims=True)
    root = np.sqrt(np.mean(centred * centred, axis=axes, keepdims=True) + LONG(eps))
    out = centred / root
    if weight is not None:
        out = out * weight
    # What long double itself may lose where x and its mean, or the product and the bias, nearly cancel.
    scale = (np.abs(x) + np.abs(x - centred)) / root * (1 if weight is None else np.abs(weight))
    if bias is not None:
        out, scale = out + bias, scale + np.abs(bias)
    return out, scale * LONG(2) ** -60


def softmax(x, axis):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / np.sum(e, axis=axis, keepdims=True)


def erfc(x):
    """erfc in nearly long double: math.erfc at the nearest double, and its slope times the rest."""
    near = x.astype(np.float64)
    at_near = np.array([math.erfc(v) for v in near.ravel()]).reshape(near.shape).astype(LONG)
    slope = -2 / np.sqrt(PI) * np.exp(-near.astype(LONG) ** 2)
    return at_near + slope * (x - near)


def gelu(x, approximate):
    if approximate == "none":
        # 1 + erf(z) = erfc(-z), which keeps its digits for negative x.
        return x / 2 * erfc(-x / np.sqrt(LONG(2)))
    u = np.sqrt(2 / PI) * (x + LONG(0.044715) * x**3)
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-2 * u))


# ---- Comparison --------------------------------------------------------------------------------

def check_float(found, expected, dtype, units, slack):
    """Text of what is wrong, or nothing. `units` bounds float64 in its last place, `slack` adds to it."""
    if dtype != "float64":
        wanted = round_once(expected, dtype)
        values = from_bfloat16(wanted) if dtype == "bfloat16" else wanted
        got = from_bfloat16(found) if dtype == "bfloat16" else found
        both_nan = np.isnan(values.astype(np.float64)) & np.isnan(got.astype(np.float64))
        one_nan = np.isnan(values.astype(np.float64)) ^ np.isnan(got.astype(np.float64))
        distance = np.where(both_nan, 0, np.abs(order(found) - order(wanted)))
        if dtype == "float32":  # only float32 comes near what the oracle itself may lose
            distance = np.where(np.abs(got.astype(LONG) - expected) <= slack, 0, distance)
        worst = int(np.max(np.where(one_nan, np.iinfo(np.int64).max, distance), initial=0))
        return "" if worst <= 1 else f"{worst} units in the last place away, allowed 1"
    both_nan = np.isnan(found) & np.isnan(expected)
    equal = found == expected
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.abs(expected).astype(np.float64)).astype(LONG)
        distance = np.abs(found.astype(LONG) - expected)
        right = both_nan | equal | (distance <= LONG(units) * unit * LONG(1.001) + slack)
    if np.all(right):
        return ""
    at = np.unravel_index(int(np.argmin(right)), right.shape)
    return f"at {[int(i) for i in at]}: found {found[at]!r}, expected {expected[at]!r}, allowed {units} units"


def check(found, expected, dtype, units, slack):
    if tuple(found.shape) != tuple(np.shape(expected)):
        return f"shape {found.shape}, expected {np.shape(expected)}"
    carrier = "uint16" if dtype == "bfloat16" else dtype
    if found.dtype != np.dtype(carrier):
        return f"dtype {found.dtype}, expected {carrier}"
    if dtype in FLOATS and units is not None:
        return check_float(found, expected, dtype, units, slack)
    same = np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()
    return "" if same else "not bit-equal"


# ---- Cases -------------------------------------------------------------------------------------

class Case:
    """One call: inputs by name as arrays of `dtype`, parameters as YAML text, and what must come back."""

    def __init__(self, op, dtype, inputs, params, expected, units=None, slack=LONG(0)):
        self.op, self.dtype, self.inputs, self.params = op, dtype, inputs, params
        self.expected, self.units, self.slack = expected, units, slack


def norm_cases():
    for dtype in FLOATS:
        for shape, normalized in (((7, 64), (64,)), ((3, 4, 5), (4, 5)), ((1, 1), (1,)), ((2, 1000), (1000,))):
            axes = tuple(range(len(shape) - len(normalized), len(shape)))
            text = f"[{', '.join(map(str, normalized))}]"
            x = made(shape, dtype, 2.0)
            for affine in (False, True):
                for eps in (None, 1e-6):
                    weight = made(normalized, dtype) if affine else None
                    w = widen(weight, dtype) if affine else None
                    value = (2.0**-52 if dtype == "float64" else 2.0**-23) if eps is None else eps
                    inputs = {"x": x, **({"weight": weight} if affine else {})}
                    params = {"normalized_shape": text, **({"eps": repr(eps)} if eps else {})}
                    yield Case("RMSNormFwdOp", dtype, inputs, params, rms_norm(widen(x, dtype), axes, value, w), 8)
            for has_weight in (False, True):
                for has_bias in (False, True):
                    inputs = {"x": x}
                    weight = bias = None
                    if has_weight:
                        inputs["weight"] = made(normalized, dtype)
                        weight = widen(inputs["weight"], dtype)
                    if has_bias:
                        inputs["bias"] = made(normalized, dtype)
                        bias = widen(inputs["bias"], dtype)
                    expected, slack = layer_norm(widen(x, dtype), axes, 1e-5, weight, bias)
                    yield Case("LayerNormFwdOp", dtype, inputs, {"normalized_shape": text}, expected, 8, slack)


def softmax_cases():
    for dtype in FLOATS:
        x = made((3, 17, 5), dtype, 3.0)
        for dim in (0, 1, 2, -1, -3):
            yield Case("SoftmaxFwdOp", dtype, {"x": x}, {"dim": str(dim)}, softmax(widen(x, dtype), dim), 8)
        infinity = math.inf
        rows = [[-infinity] * 3, [1, infinity, 2], [1, math.nan, 2], [1, -infinity, 1], [100, -100, 0]]
        special = round_once(np.array(rows), dtype)
        yield Case("SoftmaxFwdOp", dtype, {"x": special}, {}, softmax(widen(special, dtype), -1), 8)


def elementwise_cases():
    for dtype in FLOATS:
        a, b = made((8, 1, 5), dtype), made((4, 5), dtype)
        left, right = widen(a, dtype), widen(b, dtype)
        for alpha in (None, 2, -0.375):
            params = {} if alpha is None else {"alpha": repr(alpha)}
            expected = left + LONG(1 if alpha is None else alpha) * right
            slack = LONG(2) ** -62 * (np.abs(left) + np.abs(right))
            yield Case("AddFwdOp", dtype, {"self": a, "other": b}, params, expected, 0.5, slack)
        yield Case("MulFwdOp", dtype, {"self": a, "other": b}, {}, left * right, 0.5, LONG(2) ** -62 * np.abs(left * right))
        x = made((6, 50), dtype, 2.0)
        for approximate in ("none", "tanh"):
            yield Case("GeluFwdOp", dtype, {"x": x}, {"approximate": approximate}, gelu(widen(x, dtype), approximate), 8)
        yield Case("AddFwdOp", dtype, {"self": made((), dtype), "other": made((0, 3), dtype)}, {}, np.zeros((0, 3), LONG), 0.5)
    for dtype in INTEGERS:
        a, b = made((3, 1, 7), dtype), made((2, 7), dtype)
        with np.errstate(over="ignore"):
            wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
            yield Case("AddFwdOp", dtype, {"self": a, "other": b}, {}, (wide_a + wide_b).astype(dtype))
            yield Case("AddFwdOp", dtype, {"self": a, "other": b}, {"alpha": "3"}, (wide_a + np.int64(3) * wide_b).astype(dtype))
            yield Case("MulFwdOp", dtype, {"self": a, "other": b}, {}, (wide_a * wide_b).astype(dtype))


def sum_cases():
    dims = ((None, None), ("[0]", (0,)), ("-1", (2,)), ("[0, 2]", (0, 2)), ("[-2, 0]", (0, 1)))
    for dtype in FLOATS + INTEGERS:
        x = made((6, 31, 5), dtype)
        for text, axes in dims:
            for keepdim in (False, True):
                params = {**({"dim": text} if text else {}), **({"keepdim": "true"} if keepdim else {})}
                if dtype in INTEGERS:
                    expected = np.sum(x.astype(np.int64), axis=axes, keepdims=keepdim)
                    yield Case("SumFwdOp", dtype, {"x": x}, params, np.asarray(expected).astype(dtype))
                    continue
                wide = widen(x, dtype)
                expected = np.asarray(np.sum(wide, axis=axes, keepdims=keepdim))
                terms = x.size // max(expected.size, 1)
                bound = 2 * math.ceil(math.log2(max(terms, 2))) * 2.0**-52
                slack = LONG(bound) * np.sum(np.abs(wide), axis=axes, keepdims=keepdim)
                yield Case("SumFwdOp", dtype, {"x": x}, params, expected, 0.5, np.asarray(slack))
        empty = made((0, 8), dtype)
        zeros = np.zeros(8, LONG) if dtype in FLOATS else np.zeros(8, dtype)
        yield Case("SumFwdOp", dtype, {"x": empty}, {"dim": "[0]"}, zeros, 0.5 if dtype in FLOATS else None)


def matmul_cases():
    for dtype in FLOATS:
        for a_shape, b_shape in (((5, 7), (7, 3)), ((4, 1, 33, 65), (3, 65, 17)), ((1, 1), (1, 1)), ((4, 0), (0, 5))):
            a, b = made(a_shape, dtype), made(b_shape, dtype)
            left, right = widen(a, dtype), widen(b, dtype)
            bound = LONG(2 * math.ceil(math.log2(max(a_shape[-1], 2))) * 2.0**-52)
            slack = bound * np.matmul(np.abs(left), np.abs(right))
            yield Case("MatMulFwdOp", dtype, {"a": a, "b": b}, {}, np.matmul(left, right), 0.5, slack)


def copy_cases():
    for dtype in FLOATS + INTEGERS + ("bool", "complex64", "complex128"):
        x = made((3, 1, 5), dtype)
        yield Case("CopyFwdOp", dtype, {"x": x}, {}, x)
        yield Case("CopyFwdOp", dtype, {"x": np.asfortranarray(made((4, 3), dtype))}, {}, None)


def all_cases():
    for family in (elementwise_cases, copy_cases, sum_cases, softmax_cases, norm_cases, matmul_cases):
        for case in family():
            if case.expected is None:
                case.expected = case.inputs["x"]
            yield case


# ---- Running -----------------------------------------------------------------------------------

def command_of(case, tenon, folder, number, more):
    command = [tenon, "run", case.op]
    for name, array in case.inputs.items():
        path = os.path.join(folder, f"{number}_{name}.npy")
        np.save(path, array)
        command.append(f"{name}={path}" + (":bf16" if case.dtype == "bfloat16" else ""))
    for name, text in case.params.items():
        command += ["--set", f"{name}={text}"]
    output = os.path.join(folder, f"{number}_output.npy")
    return command + ["--device", "cpu:0", "--out", f"output={output}", *more], output


def run_case(case, tenon, folder, number, more):
    """Text of what went wrong, or nothing; and the command."""
    command, output = command_of(case, tenon, folder, number, more)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip()}", command
    if not os.path.exists(output):
        return "wrote no output file", command
    return check(np.load(output), case.expected, case.dtype, case.units, case.slack), command


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenon")
    parser.add_argument("--op", action="append")
    parser.add_argument("--keep")
    own, more = (arguments[: arguments.index("--")], arguments[arguments.index("--") + 1:]) if "--" in arguments else (arguments, [])
    options = parser.parse_args(own)
    wrong, total = 0, {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or scratch
        os.makedirs(folder, exist_ok=True)
        for number, case in enumerate(all_cases()):
            if options.op and case.op not in options.op:
                continue
            total[case.op] = total.get(case.op, 0) + 1
            text, command = run_case(case, options.tenon, folder, number, more)
            if text:
                wrong += 1
                print(f"{case.op} {case.dtype}: {text}\n    {shlex.join(command)}")
    for op, count in total.items():
        print(f"{op}: {count} cases")
    if not total:
        print("no such op", file=sys.stderr)
        return 2
    print("all right" if wrong == 0 else f"{wrong} wrong")
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
