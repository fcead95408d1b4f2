"""`python -m foldlog` is the command `foldlog`."""

import sys

from foldlog.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
