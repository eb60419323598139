"""How many examples Hypothesis tries: a quarter in `make test`, all in `make test-all`."""

import os

IS_THOROUGH = os.environ.get("GANGLINE_TEST_THOROUGH") == "1"


def examples(whole: int) -> int:
    return whole if IS_THOROUGH else max(5, whole // 4)
