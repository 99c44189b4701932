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
    ("no-such-nvcc", "ON", ["-DTENON_NVCC=/nonexistent/nvcc"],
     ["cuda was asked for, but TENON_NVCC is /nonexistent/nvcc, which does not exist"]),
    ("no-nvcc", "AUTO", ["-DTENON_NVCC=/bin/true"], ["cuda: left out, /bin/true --version tells no version of CUDA"]),
    ("misspelt", "yes", [], ["TENON_CUDA is 'yes'; it is AUTO, ON or OFF"]),
]


def stand_in(folder, release):
    """A CUDA of some release that only says so: options for its compiler."""
    for part in ("bin", "include", "lib64"):
        os.makedirs(os.path.join(folder, part))
    nvcc = os.path.join(folder, "bin", "nvcc")
    with open(nvcc, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.1'\n")
    os.chmod(nvcc, 0o755)
    for name in ("include/cublasLt.h", "include/cuda_runtime_api.h", "lib64/libcudart_static.a"):
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
    return [f"-DTENON_NVCC={nvcc}", "-DTENON_HIP_PLATFORMS=nvidia"]


def cases_with_cuda(work):
    """Cases that need some CUDA to be there, and that end before its compiler runs."""
    old = stand_in(os.path.join(work, "cuda-11"), "11.8")
    new = stand_in(os.path.join(work, "cuda-13"), "13.0")
    what = "it is a list of compute capabilities, like 90, 80-real or 90-virtual"
    yield ("old", "ON", old, ["is of CUDA 11.8, and 12.8 or later is needed"])
    for text in ("sm_90", "native", "90;foo"):
        yield (f"arch-{text.replace(';', '-')}", "ON", [*new, f"-DTENON_CUDA_ARCHITECTURES={text}"],
               [f"TENON_CUDA_ARCHITECTURES has '{text.split(';')[-1]}'; {what}"])
    yield ("no-arch", "ON", [*new, "-DTENON_CUDA_ARCHITECTURES="], [f"TENON_CUDA_ARCHITECTURES is empty; {what}"])


def follows_the_compiler(source, work, generator):
    """Configured again with another nvcc, a build folder takes that one's headers and runtime."""
    build = os.path.join(work, "two-cudas")
    for release in ("13.0", "13.1"):
        folder = os.path.join(work, f"cuda-{release}")
        subprocess.run(["cmake", "-S", source, "-B", build, "-G", generator, "-DTENON_TESTS=OFF", *stand_in(folder, release)],
                       capture_output=True, check=False)
        with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
            cache = file.read()
        if f"TENON_CUDA_INCLUDE:PATH={folder}/" not in cache or f"TENON_CUDART_STATIC:FILEPATH={folder}/" not in cache:
            print(f"two-cudas: not beside the nvcc of {release}")
            return False
    print("two-cudas: headers and runtime beside each nvcc")
    return True


def main():
    source, work, generator = sys.argv[1:4]
    shutil.rmtree(work, ignore_errors=True)
    wrong = 0
    for name, wanted, hidden, texts in [*CASES, *cases_with_cuda(work)]:
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
    if not follows_the_compiler(source, work, generator):
        wrong += 1
    sys.exit(1 if wrong else 0)


main()
