"""Django settings. What may differ between installations comes from `gangline.config.env`."""

import gc

from .apps import *
from .databases import *
from .processes import *
from .security import *

# Until all is loaded, which `gangline.supervisor` tells, next to nothing becomes garbage: looking
# for it again and again takes a sixth of a start.
gc.disable()
