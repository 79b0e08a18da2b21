"""Programs that a part may need and a machine may lack: Node with its packages, and a Chromium."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from benchmarks.part import Need

NODE_FOLDER = Path(__file__).parent / "node"
NODE_INSTALL_SECONDS = 300.0
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def node(script: str) -> list[str]:
    """Returns the command that runs a script of benchmarks/node."""
    return [str(shutil.which("node")), str(NODE_FOLDER / script)]


def find_chromium() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@cache
def _missing_node() -> str | None:
    """Installs the locked packages once, into a folder that git ignores."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node or npm is not installed"
    installed, locked = NODE_FOLDER / "node_modules" / ".package-lock.json", NODE_FOLDER / "package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= locked.stat().st_mtime:
        return None
    print("Installing the Node contenders (once; a minute or two) …", flush=True)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    try:
        subprocess.run(
            command, cwd=NODE_FOLDER, capture_output=True, text=True, check=True, timeout=NODE_INSTALL_SECONDS
        )
    except subprocess.CalledProcessError as error:
        return f"npm ci failed: {error.stderr.strip()[-300:]}"
    except subprocess.TimeoutExpired:
        return f"npm ci took more than {NODE_INSTALL_SECONDS:.0f} s"
    return None


def _missing_browser() -> str | None:
    return None if find_chromium() else "Chromium is not installed"


NODE = Need("Node", _missing_node)
BROWSER = Need("a browser", _missing_browser)
