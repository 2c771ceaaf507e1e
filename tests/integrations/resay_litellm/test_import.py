from __future__ import annotations

import subprocess
import sys


def test_without_litellm_the_import_says_what_to_install():
    code = """
import importlib.util
known = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "litellm" else known(name, *a)
from resay import MissingDependencyError
try:
    import resay_litellm
except MissingDependencyError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "pip install 'resay[litellm]'" in done.stdout
