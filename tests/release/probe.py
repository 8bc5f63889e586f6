"""Run by the Python that a wheel or sdist was installed for: scores the bundled runs and prints JSON.

Uses nothing but the installed package, so that it can be run by any interpreter, an emulated one included.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path


def main() -> None:
    """Print where the package is, what runs it, and all figures of the bundled runs."""
    import pfgen_rs
    from pfgen_rs import _native, score_file

    runs = Path(pfgen_rs.__file__).parent / "data" / "mini" / "runs"
    found = {
        "folder": str(Path(pfgen_rs.__file__).parent),
        "library": Path(str(_native.__file__)).name,
        "machine": platform.machine(),
        "python": platform.python_version(),
        "version": pfgen_rs.__version__,
        "scores": {run.name: figures(score_file(run, "mini")) for run in sorted(runs.iterdir())},
    }
    print(json.dumps(found))


def figures(result: object) -> dict[str, str]:
    """Numbers of a result, exactly: `repr` of a float names one float alone."""
    names = ("score", "score_std", "fluency", "truthfulness", "helpfulness", "length")
    return {name: repr(getattr(result, name)) for name in names}


if __name__ == "__main__":
    # Without this folder, whose modules are the tests' own.
    sys.path.pop(0)
    main()
