"""`python -m tadpole_torch`."""

import sys

from tadpole_torch.cli import main

sys.exit(main())
