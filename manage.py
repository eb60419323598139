#!/usr/bin/env python
"""Django commands in a checkout that is not installed."""

import sys
from pathlib import Path

# `platform/` is a source root. It must never hold an __init__.py: that would hide Python's own
# `platform` module from every library (tests/repository/test_layout.py checks it).
sys.path.insert(0, str(Path(__file__).resolve().parent / "platform"))

if __name__ == "__main__":
    from gangline.config.manage import main

    main()
