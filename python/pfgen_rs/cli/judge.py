"""`pfgen-rs judge`: judging answers with a language model; its subcommands, and their demo."""

from functools import partial

from pfgen_rs.cli.app import Deferred, deferring, group

_asking, _verdicts = (partial(Deferred, module) for module in ("judge_ask", "judge_verdicts"))
COMMANDS = {
    "pairs": _asking("pairs", "Make pairs out of the answers of two or more runs."),
    "criteria": _asking("criteria", "Let a judge write evaluation criteria for each question."),
    "compare": _asking("compare", "Let a judge say which answer of each pair is better."),
    "plan": Deferred("judge_plan", "plan", "Estimate how many samples of a judge are enough."),
    "decide": _verdicts("decide", "Decide pairs from the verdicts of both orders."),
    "agree": Deferred(
        "judge_agree", "agree", "Compare a judge with people, and its two orders with each other."
    ),
    "meta": Deferred(
        "judge_meta", "meta", "Compare judges on pairs whose right answers are known."
    ),
    "rank": _verdicts("rank", "Rank models by the decisions about their pairs, with intervals."),
    "panel": _verdicts("panel", "Decide pairs by several judges together."),
    "grade": _asking(
        "grade", "Let a judge rate the answers of runs, and correlate with their scores."
    ),
    "against-scores": _verdicts(
        "against_scores", "Compare a judge and people with the scores of pfgen-bench."
    ),
    "plot": _verdicts("plot", "Plot agreement and biases of judges."),
    "page": _verdicts("page", "Write a page of verdicts to look through."),
    "import": _verdicts("import_verdicts", "Import judgments in the format of another tool."),
    "export": _verdicts("export_verdicts", "Export a folder of verdicts for another tool."),
    "dialogues": Deferred(
        "judge_dialogues",
        "app",
        "Count, select, tabulate, answer and grade dialogues of two turns.",
    ),
    "demo": Deferred(
        "judge", "demo", "Show these commands on the bundled sample, without a judge."
    ),
}

app = group(
    "Judge answers with a language model, and see how far to trust it.", deferring(COMMANDS)
)

_PROGRAM = "pfgen-rs judge"
_RECORDED = (
    "pairs runs/kaede runs/nagi runs/shiori --out pairs.jsonl",
    "criteria pairs.jsonl --engine openai --model gpt-4o",
    "compare pairs.jsonl --engine openai --model gpt-4o --prompt criteria-reason --out verdicts/careful",
)
"""What would make the verdicts of the sample; not run."""
_STEPS = (
    (
        "Both orders of each pair are decided by their mean probabilities:",
        "decide verdicts/careful --by probability",
    ),
    (
        "A judge that favours the answer it saw first leaves many pairs undecided:",
        "decide verdicts/hasty --by strict",
    ),
    (
        "How far is it to be trusted, and what do mean probabilities change?",
        "agree verdicts/hasty --humans humans.jsonl",
    ),
    ("Which model is best, and how sure is that?", "rank verdicts/careful"),
    (
        "Does a judge prefer the answers with the higher scores of pfgen-bench?",
        "against-scores verdicts/runs",
    ),
    ("How many dialogues are there?", "dialogues sizes dialogues.jsonl"),
    (
        "What do people and the judge think of the second answers?",
        "dialogues tables dialogues.jsonl --table 4",
    ),
    (
        "Do they agree, and does the judge like long answers?",
        "dialogues tables dialogues.jsonl --table 5 --table length-bias",
    ),
)


def demo() -> None:
    """Show the commands on the bundled sample, with recorded verdicts instead of a judge.

    Each command is printed before its output, so that it can be tried with your own files. The sample is made
    up: its numbers say nothing about models, people or judges.

    Example: `pfgen-rs judge demo`
    """
    from pfgen_rs.cli.demos import show_demo
    from pfgen_rs.judge.pairs import sample_path

    folder = sample_path()
    known = {path.name for path in folder.iterdir()}

    def split(words: str) -> list[str]:
        found = ((each, each.partition("/")[0]) for each in words.split())
        return [str(folder / each) if first in known else each for each, first in found]

    texts = (
        "The sample is made up: its numbers say nothing about models, people or judges.",
        "These commands need runs and a judge; what they give is recorded in the sample:",
    )
    show_demo(app, _PROGRAM, folder, texts, _RECORDED, _STEPS, split)
