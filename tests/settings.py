"""The product's settings and one throw-away app, on which the contract of resources is run."""

from gangline.config.settings import *  # noqa: F403
from gangline.config.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "tests.resources.shelf"]
