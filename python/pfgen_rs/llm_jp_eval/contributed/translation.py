"""COMET, which a model computes in an environment of its own: `comet_wmt22`."""

import json
import os
import subprocess
from collections.abc import Sequence

from pfgen_rs.errors import PfgenError
from pfgen_rs.llm_jp_eval.measures import sample_metric

ENVIRONMENT = "PFGEN_RS_COMET"
_SCRIPT = """
import json, sys, torch
from comet import download_model, load_from_checkpoint
model = load_from_checkpoint(download_model("Unbabel/wmt22-comet-da"))
rows = [dict(zip(("src", "mt", "ref"), each)) for each in json.load(sys.stdin)]
found = model.predict(rows, batch_size=16, gpus=int(torch.cuda.is_available()))
print(json.dumps([float(each) for each in found.scores]))
"""


def _lacks() -> str:
    name = f"{ENVIRONMENT}, the Python of an environment with unbabel-comet"
    return "" if os.environ.get(ENVIRONMENT) else f"needs {name}"


def comet(inputs: Sequence[str], predictions: Sequence[str], golds: Sequence[str]) -> list[float]:
    """Returns values of Unbabel/wmt22-comet-da. Raises `PfgenError` with what its program says."""
    rows = json.dumps(list(zip(inputs, predictions, golds, strict=True)))
    command = [os.environ.get(ENVIRONMENT, ""), "-c", _SCRIPT]
    try:
        done = subprocess.run(command, input=rows, capture_output=True, text=True, check=True)  # noqa: S603
        return [float(value) for value in json.loads(done.stdout.splitlines()[-1])]
    except (OSError, subprocess.CalledProcessError, ValueError, IndexError) as error:
        said = str(getattr(error, "stderr", None) or error).strip()[-500:]
        raise PfgenError(f"comet_wmt22 with {ENVIRONMENT}={command[0]} failed: {said}") from None


@sample_metric("comet_wmt22", lacks=_lacks, with_inputs=comet)
def comet_wmt22(*_: str) -> float:
    """Raises `PfgenError`: the metric needs inputs, too (see `comet`)."""
    raise PfgenError("comet_wmt22 needs the inputs: score files of outputs")
