"""lm-evaluation-harness, run for real, asks what we ask and finds what our scorers find."""

import json
import lzma
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import pfgen_rs
from helpers import pfgen
from jpeval_data import PUBLISHED
from jpeval_exam import OUTPUTS
from pfgen_rs import Benchmark, Result, SettingsError
from pfgen_rs.generate import Mode, Prompter, Task, read_examples
from pfgen_rs.integrations import HARNESSES, harness_path
from pfgen_rs.integrations.lm_eval.choices import (
    JPEVAL_KEY,
    KEY,
    Choices,
    JpevalChoices,
    choices,
    jpeval_choices,
)
from pfgen_rs.io.cleaning import default_stop
from pfgen_rs.llm_jp_eval import convert
from pfgen_rs.llm_jp_eval.averaging import CATEGORIES
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData, item_id, read_tasks
from pfgen_rs.llm_jp_eval.prompts import (
    PromptSettings,
    filled,
    matching_outputs,
    read_outputs,
    template,
)
from pfgen_rs.llm_jp_eval.registry import tasks
from pfgen_rs.llm_jp_eval.scoring import (
    Evaluation,
    ScoreSettings,
    evaluate,
    signature,
    standard_errors,
)
from pfgen_rs.questions.locate import bundled_path
from told import lm_eval_arguments, run_lm_eval, section

PAGE = section("harnesses.md", "lm-evaluation-harness")
RUNS = bundled_path() / "runs"
METRICS = {
    "score": "average",
    **{name: name for name in ("fluency", "truthfulness", "helpfulness")},
}


def records(run: str) -> list[dict[str, str]]:
    text = lzma.decompress((RUNS / run / "trials.jsonl.xz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def written(path: Path, answers: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    return path


def tasks_of(mode: Mode, trials: int, **choices: Any) -> list[Task]:
    prompter = Prompter(read_examples("mini"), mode, **choices)
    return [task for trial in range(1, trials + 1) for task in prompter.tasks(trial)]


def clustered(frame: pl.DataFrame, metric: str) -> float:
    means = frame.group_by("question_id").agg(pl.col(metric).mean()).get_column(metric)
    return float(np.std(means.to_numpy(), ddof=1) / np.sqrt(len(means)))


def assert_same(results: dict[str, Any], expected: Result) -> None:
    """Scores are those of `score_file`, number for number; errors are clustered by question."""
    for name, metric in METRICS.items():
        assert results[f"{name},pfgen"] == getattr(expected, name)
        error = clustered(expected.frame, metric)
        assert results[f"{name}_stderr,pfgen"] == pytest.approx(error, rel=1e-9)


def assert_asked(
    asked: list[dict[str, Any]], tasks: list[Task], text: Callable[[Task], str]
) -> None:
    """What the model got is what we would have sent."""
    assert [one["context"] for one in asked] == [text(task) for task in tasks]
    assert [one["doc"]["seed"] for one in asked] == [task.seed for task in tasks]


def plain(task: Task) -> str:
    return task.prompt


def templated(task: Task) -> str:
    return json.dumps([task.messages, True])


def sampling(mode: Mode) -> dict[str, Any]:
    return {
        "until": list(default_stop(mode)),
        "max_gen_toks": 300,
        "do_sample": True,
        "temperature": 1.0,
        "top_p": 0.98,
    }


def test_the_command_line_gives_our_scores(tmp_path: Path) -> None:
    """`lm_eval` as the page says it is called, and what the page makes of its samples."""
    folder = tmp_path
    answers, asked = written(folder / "answers.jsonl", records("careless")), folder / "asked.json"
    arguments = lm_eval_arguments(
        PAGE.split("## llm-jp-eval")[0], f"answers={answers},asked={asked}"
    )
    printed = run_lm_eval(folder, arguments)
    expected = pfgen_rs.score_file(RUNS / "careless", "mini")
    [path] = folder.glob("out/*/results_*.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    assert_same(found["results"]["pfgen"], expected)
    assert found["configs"]["pfgen"]["metadata"]["signature"] == expected.signature
    shown = f"{expected.score:.4f}|±  |{clustered(expected.frame, 'average'):.4f}"
    assert shown in printed
    sent = json.loads(asked.read_text(encoding="utf-8"))
    assert_asked(sent, tasks_of("completion", 10), plain)
    assert all(one["arguments"] == sampling("completion") for one in sent)
    [logged] = folder.glob("out/*/samples_pfgen_*.jsonl")
    assert_logged(logged, expected)
    scored = pfgen_rs.score_file(logged, "mini")
    assert scored.read_as.layout == "lm-eval"
    key = ["question_id", "answer", "average"]
    assert scored.frame.select(key).sort(key).equals(expected.frame.select(key).sort(key))


def assert_logged(path: Path, expected: Result) -> None:
    """Every answer is logged with its figures."""
    samples = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    key = ["question", "answer", *METRICS.values()]
    logged = pl.DataFrame(
        [
            [s["doc"]["question"], s["filtered_resps"][0][0], *(s[name] for name in METRICS)]
            for s in samples
        ],
        schema=dict(zip(key, [pl.String] * 2 + [pl.Float64] * 4, strict=True)),
        orient="row",
    )
    assert logged.sort(key).equals(expected.frame.select(key).sort(key))


def cut_short() -> list[dict[str, str]]:
    """Answers as chat models write them, with what has to go."""
    return [
        {**record, "answer": f"<think>{i}</think>\n答え A: {record['answer']}\nQ: 次は？"}
        for i, record in enumerate(records("faithful"))
    ]


def calls(folder: Path) -> list[dict[str, Any]]:
    """Calls, by place: two modes; other choices; and what is refused."""
    plain = records("faithful")
    silent = [{**record, "answer": None} for record in plain]
    named: dict[str, Any] = {"plain": plain, "wrapped": cut_short(), "silent": silent}
    files = {name: written(folder / f"{name}.jsonl", found) for name, found in named.items()}

    def call(
        task: Any, answers: str = "plain", *, template: bool = False, **more: Any
    ) -> dict[str, Any]:
        arguments = {"answers": str(files[answers]), "asked": str(folder / "asked.json")}
        metadata = {KEY: more.pop(KEY, {})}
        shared = {"tasks": [task], "model_args": arguments, "metadata": metadata}
        return {**shared, "apply_chat_template": template, **more}

    made = {"trials": 2, "num_examples": 3, "seed": "七", "prefix": "前置き\n"}
    chosen = {**made, "send_seeds": True}
    return [
        call("pfgen_qa"),
        call("pfgen_qa", "wrapped", template=True, pfgen={"think": "strip"}),
        call("pfgen_chat", template=True),
        call("pfgen_qa", pfgen=chosen),
        call("pfgen_qa", limit=14),
        call("pfgen_qa", "silent", pfgen={"trials": 1}),
        call("pfgen_chat"),
        call("pfgen", template=True),
        call("pfgen", pfgen={"trails": 3}),
        call("pfgen", pfgen={"benchmark": "no-such"}),
        call("repeated"),
    ]


def test_the_python_interface_gives_our_scores(tmp_path: Path, mini: Benchmark) -> None:
    """`lm_eval.simple_evaluate` in all modes, and what it is refused."""
    folder = tmp_path
    (folder / "tasks").mkdir()
    repeated = f"include: {harness_path('lm_eval') / 'pfgen_qa.yaml'}\ntask: repeated\nrepeats: 2\n"
    (folder / "tasks" / "repeated.yaml").write_text(repeated, encoding="utf-8")
    printed = run_lm_eval(folder, ["calls"], json.dumps(calls(folder)))
    qa, wrapped, chat, chosen, limited, silent, *refused = json.loads(printed.splitlines()[-1])
    expected = pfgen_rs.score_file(RUNS / "faithful", mini)
    assert_same(qa["results"]["pfgen_qa"], expected)
    assert_asked(qa["asked"], tasks_of("qa", 10), plain)
    assert qa["asked"][0]["arguments"] == sampling("qa")
    assert sum(score for score, *_ in qa["sent"]) == pytest.approx(expected.frame["average"].sum())
    assert_same(wrapped["results"]["pfgen_qa"], expected)
    assert_asked(wrapped["asked"], tasks_of("qa", 10), templated)
    assert_same(chat["results"]["pfgen_chat"], expected)
    assert_asked(chat["asked"], tasks_of("chat", 10), templated)
    assert_choices(chosen, mini)
    assert_same(limited["results"]["pfgen_qa"], first_trials(mini, 1))
    assert silent["results"]["pfgen_qa"]["score,pfgen"] == 0
    assert_refused([outcome["error"] for outcome in refused])


def first_trials(mini: Benchmark, trials: int) -> Result:
    frame = pl.DataFrame(records("faithful")).with_columns(
        pl.int_range(pl.len()).over("question").alias("trial")
    )
    return mini.evaluate(frame.filter(pl.col("trial") < trials))


def assert_choices(outcome: dict[str, Any], mini: Benchmark) -> None:
    tasks = tasks_of("qa", 2, num_examples=3, seed="七", prefix="前置き\n")
    assert_same(outcome["results"]["pfgen_qa"], first_trials(mini, 2))
    assert_asked(outcome["asked"], tasks, plain)
    assert [one["arguments"]["seed"] for one in outcome["asked"]] == [task.seed for task in tasks]


def assert_refused(errors: list[str]) -> None:
    without_template, with_template, misspelt, unknown, repeated = errors
    assert "add --apply_chat_template" in without_template
    assert "omit --apply_chat_template" in with_template
    assert "trials" in misspelt
    assert "trails" in misspelt
    assert "no-such" in unknown
    assert "use more trials instead of" in repeated


def test_the_path_of_a_harness_is_printed_alone() -> None:
    for name in HARNESSES:
        done = pfgen("harness-path", name)
        assert (done.returncode, done.stdout) == (0, f"{harness_path(name)}\n")
        assert harness_path(name).exists()
    done = pfgen("harness-path", "lm-eval")
    assert (done.returncode, "lm_eval" in done.stderr) == (2, True)


WRONG: list[Any] = [3, {"trials": "3"}, {"trials": True}, {"trials": 0}, {"seed": 1}]
WRONG += [{"think": "drop"}, {"send_seeds": 1}, {"benchmarks": "mini"}]


def test_wrong_choices_are_refused() -> None:
    for chosen in WRONG:
        with pytest.raises(SettingsError, match=r"pfgen|trial"):
            choices({KEY: chosen})


def test_choices_in_the_wrong_place_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be left out otherwise; a model's own arguments stand beside them."""
    for name, value in (("trials", 2), ("benchmark", "mini"), ("think", "strip"), ("seed", "a")):
        told = re.escape(json.dumps({KEY: {name: value}}))
        with pytest.raises(SettingsError, match=f"'{name}' belongs under 'pfgen': .*'{told}'"):
            choices({"pretrained": "x", name: value, KEY: {"num_examples": 3}})
    assert choices({"seed": 1234, "version": 1, "signature": "x"}) == Choices("mini", 10)
    monkeypatch.setenv("PFGEN_RS_BENCHMARK", "pfgen-bench")
    assert choices({"pretrained": "x", KEY: None}) == Choices("pfgen-bench", 10)
    assert choices({KEY: {"trials": 3, "seed": "a"}}) == Choices("pfgen-bench", 3, seed="a")


# lm-evaluation-harness, run for real on the tasks of llm-jp-eval, gives the figures of our scorer.


SHOTS = 2  # the made-up train files are small


@pytest.fixture(scope="module")
def folder(jpeval_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All 17 tasks, converted from made-up raw files."""
    place = tmp_path_factory.mktemp("converted")
    convert(jpeval_dir / "golden" / "mini" / "raw_files", place)
    return place


def outputs_of(data: TaskData) -> list[str]:
    """What a model might say: right, cut short, with more behind it, with spaces, or nothing of use."""
    kinds = (
        lambda gold: gold,
        lambda gold: f"{gold}\n\n### 入力:\n次",
        lambda gold: gold[: len(gold) // 2 + 1] + "。",
        lambda gold: f" {gold}\n",
        lambda gold: f"\n\n{gold}",
        lambda gold: gold + "0",
    )
    golds = [sample.output for sample in data.samples]
    return [kinds[(n * n + len(data.task)) % 6](gold) for n, gold in enumerate(golds)]


def recorded(path: Path, datas: Iterable[TaskData]) -> Path:
    lines = [
        json.dumps({"question": item_id(data.task, data.split, n), "answer": text})
        for data in datas
        for n, text in enumerate(outputs_of(data))
    ]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def evaluated(datas: Iterable[TaskData], n: int | None = None, **more: Any) -> Evaluation:
    chosen = list(datas)
    return evaluate(chosen, {data.task: outputs_of(data)[:n] for data in chosen}, **more)


def assert_figures(results: dict[str, Any], expected: Evaluation) -> None:
    """Figures and errors of all tasks, number for number."""
    errors = standard_errors(expected)
    for task in expected.frame["task"].unique():
        for metric in tasks()[task].metrics:
            found, name = results[f"llm_jp_eval_{task}"], f"{task}_{metric}"
            assert found[f"{metric},llm_jp_eval"] == expected.scores[name]
            error = "N/A" if errors[name] is None else errors[name]
            assert found[f"{metric}_stderr,llm_jp_eval"] == error


def assert_prompted(asked: list[dict[str, Any]], datas: list[TaskData], shots: int) -> None:
    """Prompts are those of llm-jp-eval 5; nothing stops generation but the end of the text."""
    for data in datas:
        own = [one for one in asked if one["doc"]["task"] == data.task]
        inputs = [sample.input for sample in data.samples[: len(own)]]
        assert [one["context"] for one in own] == [
            filled(template(data, shots), text) for text in inputs
        ]
        sampling = {"max_gen_toks": data.output_length, "until": [], "do_sample": False}
        assert all(one["arguments"] == sampling for one in own)


def test_the_command_line_gives_our_figures(folder: Path, tmp_path: Path) -> None:
    """The page's command, with all tasks: figures, categories and AVR."""
    datas = read_tasks(folder, PUBLISHED)
    answers, asked = recorded(tmp_path / "answers.jsonl", datas), tmp_path / "asked.json"
    chosen = {JPEVAL_KEY: {"shots": SHOTS, "data": str(folder)}}
    metadata = ["--metadata", json.dumps(chosen)]
    documented = lm_eval_arguments(
        PAGE.split("## llm-jp-eval")[1], f"answers={answers},asked={asked}"
    )
    shown = run_lm_eval(tmp_path, [*documented, *metadata])
    [path] = tmp_path.glob("out/*/results_*.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    expected = evaluated(datas)
    assert_figures(found["results"], expected)
    assert_prompted(json.loads(asked.read_text(encoding="utf-8")), datas, SHOTS)
    groups = found["groups"]
    for category in set(CATEGORIES) - {"STS"}:
        value = groups[f"llm_jp_eval_{category.lower()}"]["score,llm_jp_eval"]
        assert value == expected.averages[category]
    assert groups["llm_jp_eval"]["score,llm_jp_eval"] == expected.averages["AVR"]
    assert 0 < expected.averages["AVR"] < 1
    assert f"{expected.averages['AVR']:.4f}" in shown
    own = [data for data in datas if data.task == "jamp"]
    settings = ScoreSettings(prompts=PromptSettings(SHOTS))
    configs = found["configs"]
    assert configs["llm_jp_eval_jamp"]["metadata"]["signature"] == signature(own, settings)
    [logged] = tmp_path.glob("out/*/samples_llm_jp_eval_jemhopqa_*.jsonl")
    samples = [json.loads(line) for line in logged.read_text(encoding="utf-8").splitlines()]
    rows = expected.frame.filter(task="jemhopqa")
    assert [sample["filtered_resps"][0][0] for sample in samples] == rows["pred"].to_list()
    assert [sample["char_f1"] for sample in samples] == rows["value"].to_list()
    data = [data for data in datas if data.task == "jemhopqa"]
    outputs = matching_outputs(data, read_outputs(logged), None, PromptSettings()).texts
    again = evaluate(data, {task: [text or "" for text in outputs[task]] for task in outputs})
    assert again.frame["value"].to_list() == rows["value"].to_list()


def test_the_python_interface_gives_our_figures(folder: Path, tmp_path: Path) -> None:
    """Other settings: split, variant, no examples, a chat template, a limit."""
    names = ["jsts", "jcommonsenseqa", "jemhopqa", "wiki_reading"]
    dev, test = read_tasks(folder, names, "dev"), read_tasks(folder, names)
    files = {
        "dev": recorded(tmp_path / "dev.jsonl", dev),
        "test": recorded(tmp_path / "test.jsonl", test),
    }
    (tmp_path / "tasks").mkdir()

    def call(split: str, *, template: bool = False, **more: Any) -> dict[str, Any]:
        chosen = {"data": str(folder), "split": split, "shots": 0, **more.pop("chosen", {})}
        arguments = {"answers": str(files[split]), "asked": str(tmp_path / f"asked_{split}.json")}
        return {
            "tasks": [f"llm_jp_eval_{name}" for name in names],
            "model_args": arguments,
            "metadata": {JPEVAL_KEY: chosen},
            "apply_chat_template": template,
            **more,
        }

    calls = [
        call("dev", chosen={"profile": "swallow"}),
        call("test", limit=2, template=True),
        call("test", chosen={"shots": 99}),
        call("test", chosen={"data": "nowhere"}),
    ]
    swallow, chat, *refused = json.loads(
        run_lm_eval(tmp_path, ["calls"], json.dumps(calls)).splitlines()[-1]
    )
    assert_figures(swallow["results"], evaluated(dev, profile="swallow"))
    assert_figures(chat["results"], evaluated(test, 2))
    assert_prompted(swallow["asked"], dev, 0)
    [first, *_] = [one for one in chat["asked"] if one["doc"]["id"] == "jemhopqa/test/0"]
    data = next(data for data in test if data.task == "jemhopqa")
    prompt = filled(template(data, 0), data.samples[0].input)
    assert first["context"] == json.dumps([[{"role": "user", "content": prompt}], True])
    assert chat["signatures"]["llm_jp_eval_jsts"].endswith("|mode:chat")
    assert "|n:2|shots:0|" in chat["signatures"]["llm_jp_eval_jsts"]
    assert swallow["sent"]
    assert all(one[-1] == "swallow" for one in swallow["sent"])
    assert "choose fewer" in refused[0]["error"]
    assert "nowhere" in refused[1]["error"]


WRONG_JPEVAL: list[dict[str, Any]] = [
    *({JPEVAL_KEY: chosen} for chosen in (3, {"shots": "4"}, {"shots": True}, {"profile": "old"})),
    *({JPEVAL_KEY: {"n": 3}}, {"shots": 0}, {"profile": "swallow"}),
]


def test_choices() -> None:
    assert jpeval_choices({"pretrained": "x"}) == JpevalChoices()
    chosen = {"data": "here", "shots": 0, "profile": "swallow", "split": "dev"}
    assert jpeval_choices({JPEVAL_KEY: chosen}) == JpevalChoices(**chosen)  # type: ignore[arg-type]
    for metadata in WRONG_JPEVAL:
        with pytest.raises(SettingsError, match=r"llm_jp_eval|profile"):
            jpeval_choices(metadata)


def test_tasks_and_groups_are_those_of_the_registry(tmp_path: Path) -> None:
    own = tmp_path / "exams"
    own.mkdir()
    (own / "my_exam.toml").write_text('category = "EXAM"\nmetrics = ["exact_match"]\n')
    where = pfgen("harness-path", "lm_eval", "--task-folder", own).stdout.strip()
    files = {path.stem: path.read_text("utf-8") for path in Path(where).glob("llm_jp_eval/*.yaml")}
    described = {name: json.loads(text) for name, text in files.items()}
    assert described["my_exam"]["dataset_kwargs"] == {
        "jpeval_task": "my_exam",
        "jpeval_folder": str(own),
    }
    assert described["_exam"]["task"] == ["llm_jp_eval_my_exam"]
    assert {name for name in described if name[0] != "_"} == {*tasks(), "my_exam"}
    nli = [f"llm_jp_eval_{name}" for name in ("jamp", "janli", "jnli", "jsem", "jsick")]
    assert described["_nli"]["task"] == nli
    whole = [f"llm_jp_eval_{name}" for name in ("nli", "qa", "rc", "mc", "el", "fa", "mr", "jsts")]
    assert described["_llm_jp_eval"]["task"] == whole
    assert pfgen("harness-path", "lm_eval").stdout.strip() != where


def test_a_task_of_ones_own_has_our_figures(own_tasks: Path, tmp_path: Path) -> None:
    answers, asked = tmp_path / "answers.jsonl", tmp_path / "asked.json"
    lines = [
        json.dumps({"question": f"my_exam/test/{n}", "answer": text})
        for n, text in enumerate(OUTPUTS)
    ]
    answers.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    model = ["--model", "recorded", "--model_args", f"answers={answers},asked={asked}"]
    where = ["--include_path", str(harness_path("lm_eval")), "--output_path", "out"]
    run_lm_eval(tmp_path, [*model, *where, "--tasks", "llm_jp_eval_exam"])  # its category
    [path] = tmp_path.glob("out/*/results_*.json")
    found = json.loads(path.read_text(encoding="utf-8"))
    expected = evaluate(read_tasks(None, ["my_exam"]), {"my_exam": OUTPUTS})
    assert_figures(found["results"], expected)
    assert found["groups"]["llm_jp_eval_exam"]["score,llm_jp_eval"] == pytest.approx(2 / 3)
    assert "|shots:4,my_exam=0|" in found["configs"]["llm_jp_eval_my_exam"]["metadata"]["signature"]
