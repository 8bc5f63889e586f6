#!/bin/bash
# Evaluates the checkpoints of a training job on a Slurm cluster, each once, and draws the learning curve.
#
#   training=$(sbatch --parsable train.sh)
#   sbatch --dependency=afterany:"$training" slurm_watch.sh checkpoints
#
# The second job begins when the training job has ended, in whichever way, and evaluates what there is.
# What is already on the curve is not evaluated again, so the same command can be submitted as often as you like.
#
# While training runs: submit it without the dependency, with --job-name=watch --dependency=singleton if at most
# one such job is to run at a time, for example from the training script after each checkpoint.
#
# Several at once: sbatch --array=0-3 slurm_watch.sh checkpoints. The jobs divide the checkpoints among them, and
# take over what a job that is killed had begun. The folder must be on a file system with locks (flock or NFS).
#
#SBATCH --job-name=watch
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gres=gpu:1
#SBATCH --time=04:00:00
#SBATCH --output=%x-%j.log
# Sent early enough before the time limit, so that the server is stopped and its step left to the next job.
#SBATCH --signal=B:TERM@120
set -eu

checkpoints=${1:?usage: slurm_watch.sh CHECKPOINTS [OPTIONS]}
shift
if [ $# -eq 0 ]; then
    set -- --serve 'vllm serve {checkpoint} --port {port}'
fi
# The shell would not hand on the signal; this process takes its place.
exec pfgen-rs watch "$checkpoints" --once --benchmark "${PFGEN_BENCHMARK:-pfgen-bench}" \
    --plot "$checkpoints/curve.svg" "$@"
