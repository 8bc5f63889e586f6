"""Tasks for lm-evaluation-harness, of 0.4 (from 0.4.12 on) and the preview of 0.5.

`pfgen-rs harness-path lm_eval` prints the folder for `--include_path`; `docs/lm-eval.md` tells the rest.
Modules here are imported by the harness, which has `lm_eval` installed.
"""
