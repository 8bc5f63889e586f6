"""Tasks for lm-evaluation-harness 0.4 (0.4.12 or later) and the preview of 0.5.

`pfgen-rs harness-path lm_eval` prints the folder for `--include_path` (`docs/how-to/harnesses.md`). The
harness imports these modules, so `lm_eval` is installed.
"""
