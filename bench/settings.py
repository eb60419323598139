"""The product's settings with the addresses of the raw limits beside its own."""

from gangline.config.settings import *  # noqa: F403

ROOT_URLCONF = "bench.urls"
