"""Writes the three documents of `npm run bench -- loss`: files of Python's own library, put together with a fixed seed.

Maintainers' tool; the figures in docs/measurements are from Python 3.11. Usage: python3 bench/loss-documents.py FOLDER
"""
import glob
import os
import random
import sys

library = os.path.dirname(os.__file__)
files = sorted(glob.glob(os.path.join(library, "*.py")))
random.seed(0)
for number in range(3):
    text = ""
    for file in random.sample(files, 6):
        with open(file, errors="ignore") as source:
            text += f"# file: {os.path.basename(file)}\n{source.read()}"
    with open(os.path.join(sys.argv[1], f"document-{number}.txt"), "w") as target:
        target.write(text[:40000])
