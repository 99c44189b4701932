#!/usr/bin/env python3
"""GPU plugins on a machine without a card: no_device.py TENON PLUGINS

Each is active, has no device, and gives the driver's reason; and a call on the CPU is what it is without them. With
the toolkit's stub of the driver, whose error HIP's headers do not know, the plugins for NVIDIA give that reason. Ends
with 77 where a card is present.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

# In place of the folders that the command looks in by itself: these very plugins lie in one of them.
NOWHERE = tempfile.mkdtemp()
CALL = ["explain", "SoftmaxFwdOp", "x=4x1001:f32", "--device", "cpu:0", "--json"]


def stub_folder():
    """A folder with the stub under the driver's name, or none."""
    compiler = shutil.which("nvcc")
    if not compiler:
        return None
    stub = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(compiler))), "lib64/stubs/libcuda.so")
    if not os.path.exists(stub):
        return None
    folder = tempfile.mkdtemp()
    os.symlink(stub, os.path.join(folder, "libcuda.so.1"))
    return folder


def tenon(command, plugins, *arguments, libraries=None):
    paths = [part for name in plugins for part in ("--plugin-path", name)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENON_")}
    environment["TENON_PLUGIN_PATH"] = NOWHERE
    if libraries:
        environment["LD_LIBRARY_PATH"] = libraries
    done = subprocess.run([command, *arguments, *paths], capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"{arguments}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    command, folder = sys.argv[1:3]
    cpu = os.path.join(folder, "cpu.tenon.so")
    kinds = [name for name in ("cuda", "hip", "hip-nvidia", "maca") if os.path.exists(f"{folder}/{name}.tenon.so")]
    all_plugins = [cpu] + [f"{folder}/{name}.tenon.so" for name in kinds]
    listed = {each["id"]: each for each in tenon(command, all_plugins, "plugins", "--json")["plugins"]}
    devices = tenon(command, all_plugins, "devices", "--json")
    if any(each["kind"] in kinds for each in devices["devices"]):
        print("a card is present")
        sys.exit(77)
    reasons = {each["kind"]: each["reason"] for each in devices["absent"]}
    wrong = 0
    for kind in kinds:
        print(f"{kind}: {listed[kind]['state']}, {reasons.get(kind)}")
        wrong += listed[kind]["state"] != "active" or "Error" not in (reasons.get(kind) or "")
    stub = stub_folder()
    if stub:
        absent = tenon(command, all_plugins, "devices", "--json", libraries=stub)["absent"]
        for each in absent:
            if each["kind"] in ("cuda", "hip-nvidia"):
                print(f"{each['kind']}, with a stub of the driver: {each['reason']}")
                wrong += "stub library" not in each["reason"]
    alone = tenon(command, [cpu], *CALL)["steps"][0]
    beside = tenon(command, all_plugins, *CALL)["steps"][0]
    of_cpu = [each for each in beside["candidates"] if each["plugin"] == "cpu"]
    wrong += alone["winner"] != beside["winner"] or alone["candidates"] != of_cpu
    sys.exit(1 if wrong else 0)


main()
