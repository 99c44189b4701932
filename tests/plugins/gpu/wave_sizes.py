#!/usr/bin/env python3
"""Looks into the AMD plugin's code objects for the wave sizes that they were compiled for: wave_sizes.py PLUGIN

Ends with 77 where the plugin or the reader of code objects is not there.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile


def main():
    plugin = sys.argv[1]
    tools = [shutil.which(name) for name in ("llvm-readelf-15", "llvm-readelf")]
    reader = next((tool for tool in tools if tool), None)
    if not os.path.exists(plugin) or reader is None:
        print("passed over: no AMD plugin, or no llvm-readelf")
        sys.exit(77)
    with open(plugin, "rb") as file:
        image = file.read()
    sizes = set()
    # A bundle holds one ELF image for each architecture; each carries its kernels' facts in a note.
    for match in re.finditer(b"\x7fELF\x02\x01\x01\x40", image):  # EI_OSABI 64: AMD's HSA
        with tempfile.NamedTemporaryFile(suffix=".co") as part:
            part.write(image[match.start():])
            part.flush()
            notes = subprocess.run([reader, "--notes", part.name], capture_output=True, text=True, check=False).stdout
        target = re.search(r"amdhsa.target: *(\S+)", notes)
        waves = set(re.findall(r"\.wavefront_size: *(\d+)", notes))
        print(target.group(1) if target else "unknown", sorted(waves))
        sizes |= waves
    sys.exit(0 if sizes == {"32", "64"} else 1)


main()
