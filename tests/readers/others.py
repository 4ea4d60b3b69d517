# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers that others wrote, from their registries, kept in the cache directory; and TAP."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Skip, run  # noqa: F401,E402 - for those that import us

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "waitscope", "readers")
WAITSCOPE = os.path.abspath(os.path.join(os.environ.get("O", "build"), "waitscope"))


def quiet(*command, **more):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                          **more).returncode == 0


def python_with(package, module):
    """An interpreter that has it, in an environment of its own; None: it cannot be had here."""
    venv = os.path.join(CACHE, "python-" + module)
    python = os.path.join(venv, "bin", "python3")
    for _ in range(2):
        if os.path.exists(python) and quiet(python, "-c", "import " + module):
            return python
        if not (quiet(sys.executable, "-m", "venv", "--clear", venv) and
                quiet(python, "-m", "pip", "install", "--timeout", "20", package)):
            return None
    return None


def node_modules_with(package, name):
    """A directory in which node finds it; None: it cannot be had here."""
    where = os.path.join(CACHE, "node-" + name)
    os.makedirs(where, exist_ok=True)
    try:
        if not os.path.isdir(os.path.join(where, "node_modules", name)) and not quiet(
                "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", where, package, timeout=120):
            return None
        return where if quiet("node", "-e", f"require('{name}')", cwd=where) else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def waitscope(*args):
    return subprocess.run([WAITSCOPE, *args], check=True, capture_output=True, text=True).stdout
