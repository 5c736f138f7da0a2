"""Everything that requests need, imported and used once: the fork server loads this module at its start."""

import gc

from nerode.explorer.jobs import rehearse

rehearse()
gc.collect()
# A collection in a copy would write to every page of memory that it shares with the fork server.
gc.freeze()
