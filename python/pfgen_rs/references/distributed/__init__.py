"""Building sets from more candidates than one machine holds, with the result of `build`.

`build_on_ray` builds each question in a task of Ray. `build_question` divides one question: its candidates
lie in shards, and only sketches, n-grams in doubt and the answers nearest to the target travel between them.
"""

from pfgen_rs.references.distributed.on_ray import RayTasks, build_on_ray
from pfgen_rs.references.distributed.question import build_question
from pfgen_rs.references.distributed.tasks import ExecutorTasks, InProcess, Tasks

__all__ = [
    "ExecutorTasks",
    "InProcess",
    "RayTasks",
    "Tasks",
    "build_on_ray",
    "build_question",
]
