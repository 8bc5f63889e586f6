"""lm-evaluation-harness, run for real on the tasks of llm-jp-eval, gives the figures of our scorer."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pfgen_rs import SettingsError
from pfgen_rs.integrations import harness_path
from pfgen_rs.integrations.lm_eval.choices import JPEVAL_KEY, JpevalChoices, jpeval_choices
from pfgen_rs.llm_jp_eval import convert
from pfgen_rs.llm_jp_eval.catalog import CATEGORIES, TaskData, item_id, read_tasks, tasks
from pfgen_rs.llm_jp_eval.prompts import PromptSettings, filled, template
from pfgen_rs.llm_jp_eval.scoring import (
    Evaluation,
    ScoreSettings,
    evaluate,
    signature,
    standard_errors,
)
from told import lm_eval_arguments, run_lm_eval, section

PAGE = section("harnesses.md", "lm-evaluation-harness")
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


def assert_same(results: dict[str, Any], expected: Evaluation) -> None:
    """Figures and errors of all tasks, number for number."""
    errors = standard_errors(expected)
    for task in expected.frame["task"].unique():
        for metric in tasks()[task].metrics:
            found, name = results[f"llm_jp_eval_{task}"], f"{task}_{metric}"
            assert found[f"{metric},llm_jp_eval"] == expected.scores[name]
            error = "N/A" if errors[name] is None else errors[name]
            assert found[f"{metric}_stderr,llm_jp_eval"] == error


def assert_asked(asked: list[dict[str, Any]], datas: list[TaskData], shots: int) -> None:
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
    datas = read_tasks(folder, tasks())
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
    assert_same(found["results"], expected)
    assert_asked(json.loads(asked.read_text(encoding="utf-8")), datas, SHOTS)
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
        call("dev", chosen={"variant": "swallow"}),
        call("test", limit=2, template=True),
        call("test", chosen={"shots": 99}),
        call("test", chosen={"data": "nowhere"}),
    ]
    swallow, chat, *refused = json.loads(
        run_lm_eval(tmp_path, ["calls"], json.dumps(calls)).splitlines()[-1]
    )
    assert_same(swallow["results"], evaluated(dev, variant="swallow"))
    assert_same(chat["results"], evaluated(test, 2))
    assert_asked(swallow["asked"], dev, 0)
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


WRONG: list[dict[str, Any]] = [
    *({JPEVAL_KEY: chosen} for chosen in (3, {"shots": "4"}, {"shots": True}, {"variant": "old"})),
    *({JPEVAL_KEY: {"n": 3}}, {"shots": 0}, {"variant": "swallow"}),
]


def test_choices() -> None:
    assert jpeval_choices({"pretrained": "x"}) == JpevalChoices()
    chosen = {"data": "here", "shots": 0, "variant": "swallow", "split": "dev"}
    assert jpeval_choices({JPEVAL_KEY: chosen}) == JpevalChoices(**chosen)  # type: ignore[arg-type]
    for metadata in WRONG:
        with pytest.raises(SettingsError, match=r"llm_jp_eval|variant"):
            jpeval_choices(metadata)


def test_there_is_a_task_for_each_task_of_the_catalog() -> None:
    files = list((harness_path("lm_eval") / "llm_jp_eval").glob("[!_]*.yaml"))
    assert {path.stem for path in files} == set(tasks())
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert f"task: llm_jp_eval_{path.stem}\n" in text
        assert f"jpeval_task: {path.stem}\n" in text
