"""How fast foldlog folds, embeds and recalls many memories, each beside the same work done bare.

Made-up memories, the same for the same seed, are written into a temporary log, folded into an embedded
Postgres (or a temporary database on the server that FOLDLOG_DATABASE_URL names), embedded and asked for.
Run by `make bench-scale`; all figures are of one run, so that they can be compared.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import replace

from quality.measuring import temporary_settings
from scaling import report
from scaling.measuring import measure


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--memories", type=int, default=100_000, help="how many are written (100000)")
    parser.add_argument("--questions", type=int, default=200, help="how many are asked in each way (200)")
    parser.add_argument("--seed", type=int, default=1, help="other memories with another seed (1)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args()


def main() -> int:
    """Run the benchmark; a missed bar is shown, but is no failure: it may be the machine's."""
    # What is temporary goes also when the benchmark is told to stop.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = arguments()
    with temporary_settings() as settings:
        chosen = replace(settings, embedder="static", name="scale")
        measured = measure(given.memories, given.seed, given.questions, chosen)
    if given.json:
        print(json.dumps(report.as_dict(measured), indent=2))
    else:
        print("\n".join(report.lines(measured)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
