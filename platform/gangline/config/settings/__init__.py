"""Django settings. What may differ between installations comes from `gangline.config.env`."""

from .apps import *
from .databases import *
from .processes import *
from .security import *
