"""The product's settings, quicker where only time differs, and one throw-away app.

On the app the contract of resources is run.
"""

from gangline.config.settings import *  # noqa: F403
from gangline.config.settings import INSTALLED_APPS as _APPS
from gangline.config.settings import PASSWORD_HASHERS as _HASHERS

INSTALLED_APPS = [*_APPS, "tests.resources.shelf"]
# The same algorithm with the least work: a password costs 0.1 s otherwise.
PASSWORD_HASHERS = ["tests.support.hashers.CheapArgon2", *_HASHERS]
# Tests ask more in a minute than anybody: limits are counted where they are the matter.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
