#!/usr/bin/env python3
"""Configures the project where compilers of device code are hidden: left_out.py SOURCE WORK GENERATOR

AUTO configures the rest and says what was left out and why; ON is an error that says the same.
"""

import os
import shutil
import subprocess
import sys

# In the cache an empty name is one that was looked for and is not there.
NO_NVCC = ["-DTENON_NVCC="]
NO_HIPCC = ["-DTENON_HIPCC="]
NO_HIP = ["-DTENON_HIP_INCLUDE="]
CASES = [
    ("nvcc", "AUTO", NO_NVCC, ["cuda: left out, nvcc was not found",
                               "hip-nvidia (HIP over CUDA): left out, "]),
    ("hipcc", "AUTO", NO_HIPCC, ["hip (AMD): left out, "]),
    ("both", "AUTO", NO_NVCC + NO_HIPCC + NO_HIP, ["cuda: left out, nvcc was not found",
                                                   "hip (AMD): left out, HIP's headers were not found",
                                                   "hip-nvidia (HIP over CUDA): left out, HIP's headers were not found"]),
    ("off", "OFF", [], ["cuda: left out, switched off", "hip (AMD): left out, switched off"]),
    ("nvcc-on", "ON", NO_NVCC, ["cuda was asked for, but nvcc was not found (-DTENON_NVCC=FILE names it). TENON_CUDA is ON"]),
    ("hip-on", "ON", NO_NVCC + ["-DTENON_CUDA=off", "-DTENON_HIP_INCLUDE=/usr/include", "-DTENON_HIP_PLATFORMS=nvidia"],
     ["hip-nvidia (HIP over CUDA) was asked for, but nvcc was not found", "TENON_HIP is ON; -DTENON_HIP_PLATFORMS=amd"]),
    ("no-platform", "ON", ["-DTENON_CUDA=OFF", "-DTENON_HIP_PLATFORMS="],
     ["TENON_HIP is ON, but TENON_HIP_PLATFORMS is empty"]),
    ("misspelt", "yes", [], ["TENON_CUDA is 'yes'; it is AUTO, ON or OFF"]),
]


def main():
    source, work, generator = sys.argv[1:4]
    shutil.rmtree(work, ignore_errors=True)
    wrong = 0
    for name, wanted, hidden, texts in CASES:
        build = os.path.join(work, name)
        done = subprocess.run(["cmake", "-S", source, "-B", build, "-G", generator, "-DTENON_TESTS=OFF",
                               f"-DTENON_CUDA={wanted}", f"-DTENON_HIP={wanted}", *hidden],
                              capture_output=True, text=True, check=False)
        said = " ".join((done.stdout + done.stderr).split())
        missing = [text for text in texts if text not in said]
        if missing or (done.returncode == 0) == (wanted not in ("AUTO", "OFF")):
            wrong += 1
            print(f"{name}: exit status {done.returncode}, without {missing}:\n{done.stdout}{done.stderr}")
            continue
        print(f"{name}: {'; '.join(texts)}")
        if wanted in ("AUTO", "OFF"):
            with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
                cache = file.read()
            if "TENON_BUILD_CUDA:INTERNAL=TRUE" in cache and "nvcc" in "".join(hidden).lower():
                wrong += 1
                print(f"{name}: builds cuda all the same")
    sys.exit(1 if wrong else 0)


main()
