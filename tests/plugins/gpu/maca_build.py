#!/usr/bin/env python3
"""Builds the plugin `maca` by the project's own CMake files, with a stand-in for MetaX's SDK:

    maca_build.py SOURCE WORK CODEGEN TENON CPU_PLUGIN GENERATOR LAUNCHER C_COMPILER NM [--update]

The stand-in is a folder laid out as the SDK is: a script that poses as mxcc (maca_stand_in/mxcc), our own
declarations of the runtime, and a runtime library without a device. Checked: what the configuration says with the
folder and without it, that the plugin builds and exports the one object, and what the command says of it. Ends with
77 where hipcc, which the script calls, is not there.
"""

import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout + done.stderr


def expect(holds, what, output=""):
    print(("ok: " if holds else "FAILED: ") + what, flush=True)
    if not holds:
        sys.exit(output)


def make_sdk(folder, c_compiler):
    for part in ("mxgpu_llvm/bin", "lib"):
        os.makedirs(f"{folder}/{part}", exist_ok=True)
    shutil.copy(f"{HERE}/maca_stand_in/mxcc", f"{folder}/mxgpu_llvm/bin/mxcc")
    shutil.copytree(f"{HERE}/maca_declarations", f"{folder}/include", dirs_exist_ok=True)
    code, output = run(c_compiler, "-shared", "-fPIC", "-o", f"{folder}/lib/libmcruntime.so",
                       f"{HERE}/maca_stand_in/mcruntime.c")
    expect(code == 0, "the stand-in for the runtime library compiles", output)


def configure(source, build, sdk, wanted, generator, launcher, codegen):
    options = [f"-DMACA_PATH={sdk}", f"-DTENON_HIP={wanted}", "-DTENON_HIP_PLATFORMS=metax", "-DTENON_CUDA=OFF",
               "-DTENON_CPU=OFF", "-DTENON_CLI=OFF", "-DTENON_TESTS=OFF", "-DTENON_WERROR=ON",
               "-DCMAKE_BUILD_TYPE=Debug", f"-DTENON_MANIFEST_CODEGEN={codegen}"]
    if launcher:
        options.append(f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}")
    return run("cmake", "-S", source, "-B", build, "-G", generator, *options)


def check_cucc(source, work, sdk, common):
    """Without mxcc cu-bridge's compiler is taken, and called in its own way. Nothing here poses as it."""
    other, build = f"{work}/sdk-cucc", f"{work}/cucc"
    shutil.copytree(sdk, other)
    os.remove(f"{other}/mxgpu_llvm/bin/mxcc")
    os.makedirs(f"{other}/tools/cu-bridge/bin")
    shutil.copy(f"{sdk}/mxgpu_llvm/bin/mxcc", f"{other}/tools/cu-bridge/bin/cucc")
    code, output = configure(source, build, other, "ON", *common)
    expect(code == 0 and "maca (MetaX): built" in output, "cu-bridge's cucc serves where there is no mxcc", output)
    code, output = run("ninja", "-C", build, "-t", "commands", "tenon_maca_plugin")
    lines = [line for line in output.splitlines() if "cu-bridge/bin/cucc" in line]
    expect(len(lines) > 0 and all("-Xcompiler=-fPIC" in line and "-DTENON_GPU_MACA=1" in line and "-x maca" not in line
                                  for line in lines), f"it would compile {len(lines)} sources", output)


def ask(tenon, cpu_plugin, plugin, libraries, *arguments):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
    environment["TENON_PLUGIN_PATH"] = libraries  # in place of the folders that the command looks in by itself
    environment["LD_LIBRARY_PATH"] = libraries
    code, output = run(tenon, *arguments, "--json", "--plugin-path", cpu_plugin, "--plugin-path", plugin,
                       env=environment)
    expect(code == 0, f"tenon {' '.join(arguments)}", output)
    return json.loads(output)


def main():
    source, work, codegen, tenon, cpu_plugin, generator, launcher, c_compiler, nm = sys.argv[1:10]
    if shutil.which("hipcc") is None:
        print("passed over: hipcc, which poses as MetaX's compiler, was not found")
        sys.exit(77)
    shutil.rmtree(work, ignore_errors=True)
    sdk, build = f"{work}/sdk", f"{work}/build"
    common = (generator, launcher, codegen)

    code, output = configure(source, f"{work}/without", f"{work}/none", "AUTO", *common)
    expect(code == 0 and "maca (MetaX): left out, neither mxcc nor cucc was found in MACA_PATH" in output,
           "AUTO without the SDK builds the rest and says what was left out", output)
    code, output = configure(source, f"{work}/without", f"{work}/none", "ON", *common)
    expect(code != 0 and "maca (MetaX) was asked for, but neither mxcc nor cucc was found" in " ".join(output.split()),
           "ON without the SDK is an error that says what is missing", output)
    code, output = configure(source, f"{work}/without", f"{work}/none", "OFF", *common)
    expect(code == 0 and "maca (MetaX): left out, switched off" in output, "OFF says so", output)

    make_sdk(sdk, c_compiler)
    if generator == "Ninja":
        check_cucc(source, work, sdk, common)
    code, output = configure(source, build, sdk, "ON", *common)
    expect(code == 0 and "maca (MetaX): built" in output, "ON with the SDK's folder builds it", output)
    code, output = run("cmake", "--build", build, "--target", "tenon_maca_plugin", "--parallel", "1")
    expect(code == 0, "the plugin compiles and links", output)

    plugin = f"{build}/lib/tenon/plugins/maca.tenon.so"
    code, output = run(nm, "-D", "--defined-only", "--format=posix", plugin)
    exports = [line.split()[0] for line in output.splitlines()]
    expect(exports == ["tenon_plugin_v0"], f"it exports the one object: {exports}")
    parts = (tenon, cpu_plugin, plugin, f"{sdk}/lib")
    listed = {each["id"]: each for each in ask(*parts, "plugins")["plugins"]}
    expect("maca" in listed and listed["maca"]["state"] == "active", "it is active, under the id of its note", str(listed))
    expect("never run" in listed["maca"]["vendor"], f"its vendor's text says so: {listed['maca']['vendor']}")
    absent = {each["kind"]: each["reason"] for each in ask(*parts, "devices")["absent"]}
    expect("mcErrorNoDevice" in absent.get("maca", ""), f"it has no device, and says why: {absent.get('maca')}")

    # What it would say on a C500, whose waves have 64 lanes.
    folder = f"{work}/plugins"
    os.makedirs(folder)
    shutil.copy(cpu_plugin, f"{folder}/cpu.tenon.so")
    shutil.copy(plugin, folder)
    environment = dict(os.environ, LD_LIBRARY_PATH=f"{sdk}/lib")
    code, output = run(sys.executable, f"{HERE}/explain_golden.py", tenon, folder, f"{source}/tests/data/devices", "",
                       *sys.argv[10:], env=environment)
    expect(code == 0, "its explanations on an assumed C500 are the golden ones", output)


main()
