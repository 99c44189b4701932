#!/usr/bin/env python3
"""Fails when a file includes something that its layer may not depend on, or when the core names a vendor.

Usage: check_layers.py [ROOT]    exit 0: clean, 1: findings (one a line on stdout), 2: wrong usage
"""
import os
import re
import sys

SOURCE_ENDINGS = (".h", ".hpp", ".cpp", ".cc", ".c", ".cu", ".cuh", ".hip")
LAYERS = ("plugin_api", "core", "manifest", "loader", "plugins", "tests", "examples")

# Which layers of ours a layer may include, itself always. Generated headers count as the layer named here.
OURS = {
    "plugin_api": {"plugin_api"},
    "core": {"plugin_api", "core"},
    "manifest": {"plugin_api", "core", "manifest"},
    "loader": {"plugin_api", "core", "manifest", "loader"},
    "plugins": {"plugin_api", "plugins"},
    "tests": {"plugin_api", "core", "manifest", "loader", "tests", "examples"},
    "examples": {"package", "examples"},
}
# Third-party libraries, by the first part of the include's path.
THIRD_PARTY = {
    "plugin_api": set(),
    "core": {"tl", "fmt"},
    "manifest": {"tl", "fmt", "nlohmann", "yaml-cpp"},
    "loader": {"tl", "fmt", "nlohmann", "boost", "spdlog"},
    "tests": {"tl", "fmt", "nlohmann", "boost", "doctest", "benchmark", "ATen", "c10", "torch", "dlpack", "yaml-cpp"},
    "examples": {"fmt", "tl"},
}
# What a plugin may not take from the host's side; its vendor's libraries are its own affair.
NOT_FOR_PLUGINS = {"tl", "fmt", "nlohmann", "boost", "spdlog", "yaml-cpp", "doctest"}
# Headers without a folder that are no vendor's: C++ ones have no ending, C and POSIX ones are listed.
C_AND_POSIX = set(
    "assert.h ctype.h errno.h float.h inttypes.h limits.h math.h stdalign.h stdarg.h stdatomic.h stdbool.h "
    "stddef.h stdint.h stdio.h stdlib.h string.h time.h dirent.h dlfcn.h elf.h fcntl.h fnmatch.h glob.h "
    "link.h malloc.h poll.h pthread.h pwd.h sched.h semaphore.h signal.h spawn.h termios.h unistd.h "
    "cpuid.h immintrin.h features.h execinfo.h cxxabi.h locale.h ucontext.h setjmp.h unwind.h".split())
FOLDERS_OF_THE_SYSTEM = {"sys", "linux", "asm", "netinet", "arpa", "bits", "experimental"}
VENDOR_WORD = re.compile(r"(?<![A-Za-z0-9_])(cuda|hip|maca|nvidia|amd|metax)(?![A-Za-z0-9_])", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of_public_name(name):
    """The layer that owns a header named as users name it: tenon/..."""
    if name in ("tenon/plugin.h", "tenon/plugin.hpp") or name.startswith(("tenon/plugin/", "tenon/contracts/")):
        return "plugin_api"
    if name.startswith("tenon/core/"):
        return "core"
    if name.startswith("tenon/manifest/"):
        return "manifest"
    return "loader"  # tenon/loader/..., tenon/tenon.hpp, tenon/ops.hpp


def find_local(root, layer, path, name):
    """The file of the repository that a quoted include means, or None."""
    starts = [os.path.dirname(path), os.path.join(root, layer), os.path.join(root, "plugins")]
    for start in starts:
        candidate = os.path.normpath(os.path.join(start, name))
        if os.path.isfile(candidate):
            return candidate
    return None


def check_ours(layer, owner, name):
    if layer == "examples":
        return None  # a consumer project sees the installed package, and all of it
    if owner in OURS[layer]:
        return None
    return f"{layer} may include {', '.join(sorted(OURS[layer]))}, but <{name}> belongs to {owner}"


def check_angle(layer, name, language):
    if name.startswith("tenon/"):
        return check_ours(layer, layer_of_public_name(name), name)
    first, _, rest = name.partition("/")
    if layer == "plugins":
        if first in NOT_FOR_PLUGINS:
            return f"plugins depend on plugin_api and their vendor's libraries only, not on {first} (<{name}>)"
        return None
    if layer == "plugin_api" and language == "c":
        if name in ("stddef.h", "stdint.h"):
            return None
        return f"the C header includes <stddef.h> and <stdint.h> only, not <{name}>"
    if rest:
        if first in FOLDERS_OF_THE_SYSTEM or first in THIRD_PARTY[layer]:
            return None
        allowed = ", ".join(sorted(THIRD_PARTY[layer])) or "none"
        return f"{layer} may use these third-party libraries: {allowed}; not <{name}>"
    if not name.endswith((".h", ".hpp")) or name in C_AND_POSIX:
        return None
    return f"<{name}> is neither a standard nor a listed system header (add it to check_layers.py if it is)"


def check_quoted(root, layer, path, name):
    if name.startswith("tenon/"):
        return check_ours(layer, layer_of_public_name(name), name)
    local = find_local(root, layer, path, name)
    if local is None:
        return None  # generated, or the compiler's to report
    owner = os.path.relpath(local, root).split(os.sep)[0]
    if owner == layer or owner not in LAYERS:
        return None
    if layer == "tests" and owner == "plugins":
        return f'tests reach plugins through the loader only, not by including "{name}"'
    return check_ours(layer, owner, name)


def language_of(path):
    return "c" if path.endswith(".h") else "c++"


def check_file(root, layer, path):
    findings = []
    with open(path, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            bracket, name = match.groups()
            finding = (check_angle(layer, name, language_of(path)) if bracket == "<"
                       else check_quoted(root, layer, path, name))
            if finding:
                findings.append((path, number, finding))
    return findings


def check_vendor_words(root, layer, path):
    findings = []
    with open(path, encoding="utf-8", errors="replace") as text:
        for number, line in enumerate(text, 1):
            match = VENDOR_WORD.search(line)
            if match:
                findings.append((path, number, f"{layer} names a vendor: '{match.group(0)}'"))
    return findings


def files_under(folder):
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")) and f != "__pycache__")
        for name in sorted(files):
            yield os.path.join(base, name)


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = os.path.abspath(arguments[0] if arguments else os.path.join(os.path.dirname(__file__), ".."))
    findings, seen = [], 0
    for layer in LAYERS:
        for path in files_under(os.path.join(root, layer)):
            if path.endswith(SOURCE_ENDINGS):
                seen += 1
                findings += check_file(root, layer, path)
            in_ops = os.path.relpath(path, root).startswith(os.path.join("manifest", "ops") + os.sep)
            if layer in ("core", "loader", "manifest") and not in_ops:
                findings += check_vendor_words(root, layer, path)
    for path, number, text in findings:
        print(f"{os.path.relpath(path, root)}:{number}: {text}")
    if seen == 0:
        print(f"no source file under {root}", file=sys.stderr)
        return 2
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
