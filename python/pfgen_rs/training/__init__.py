"""Evaluation during training: learning curves and rewards.

`StepEvaluator` works with any training loop; `pfgen_rs.integrations` has callbacks for trainers.
"""

from pfgen_rs.training.background import CollectiveError
from pfgen_rs.training.curve import plot_curve, read_curve
from pfgen_rs.training.evaluator import StepEvaluator
from pfgen_rs.training.loggers import JsonLines, Logger, MLflow, TensorBoard, WandB
from pfgen_rs.training.page import write_page
from pfgen_rs.training.rewards import Reward, TaskReward

__all__ = [
    "CollectiveError",
    "JsonLines",
    "Logger",
    "MLflow",
    "Reward",
    "StepEvaluator",
    "TaskReward",
    "TensorBoard",
    "WandB",
    "plot_curve",
    "read_curve",
    "write_page",
]
