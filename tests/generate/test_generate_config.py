"""What is asked: prompts, and the configuration of a run."""

import hashlib
import json
import pickle
import re
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pfgen_rs import BenchmarkError, InputError, Settings, SettingsError, install, load_benchmark
from pfgen_rs.generate import Example, Prompter, Task, read_examples
from pfgen_rs.generate.config import RunConfig, config_hash
from pfgen_rs.io.cleaning import MODES, THINK, cleaned, default_stop

EDITED = {"openai/gpt-4o", "openai/gpt-35-turbo", "pfnet/plamo-100b"}  # after they were named
OWN = ["engine", "model", "mode", "num_examples", "max_tokens", "temperature", "top_p"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


def of(config: dict[str, Any]) -> RunConfig:
    """The configuration that a published `config.json` states; what it lacks is left to the engine."""
    own = {key: config.get(key) for key in OWN}
    more = {key: value for key, value in config.items() if key not in [*OWN, "stop"]}
    return RunConfig(**own, stop=tuple(config.get("stop", ())), more=more)  # type: ignore[arg-type]


@pytest.mark.published
def test_published_folders_are_named_by_the_hash(published_dir: Path) -> None:
    edited = set()
    paths = sorted((published_dir / "result").rglob("config.json"))
    assert len(paths) == 24
    for path in paths:
        text = path.read_text(encoding="utf-8")
        config = json.loads(text)
        assert f"{of(config).to_json()}\n" == text
        if config_hash(config) != path.parent.name:
            edited.add(path.parent.parent.relative_to(published_dir / "result").as_posix())
        assert of(config).hash == config_hash(config)
    assert edited == EDITED


@pytest.mark.published
def test_defaults_are_the_published_ones(published_dir: Path) -> None:
    examples = read_examples(published_dir)
    config = RunConfig("vllm", "sbintuitions/tiny-lm").with_questions(examples)
    assert config.folder(published_dir / "result").is_dir()
    assert config.with_questions(examples[1:]).hash != config.hash


@given(st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=4), JSON, max_size=5))
def test_the_hash_is_that_of_the_line(config: dict[str, Any]) -> None:
    kept = {key: config[key] for key in reversed(list(config)) if not key.startswith("_")}
    try:
        line = json.dumps(kept, sort_keys=True, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        with pytest.raises(SettingsError):
            config_hash(config)
        return
    assert config_hash(config) == hashlib.sha1(line).hexdigest()[:7]
    assert config_hash(kept) == config_hash({**config, "_hidden": object()})


def test_the_line() -> None:
    config = RunConfig(
        "vllm", "組織/型", "chat", temperature=0, more={"_key": "x", "dtype": "float16"}
    )
    assert config.to_json() == (
        '{"dtype": "float16", "engine": "vllm", "max_tokens": 300, "mode": "chat", "model": "組織/型", '
        '"num_examples": 20, "stop": ["Q:"], "temperature": 0.0, "top_p": 0.98}'
    )
    assert config.folder("r") == Path("r/組織/型") / config.hash
    bare = RunConfig("e", "m", stop=(), max_tokens=None, temperature=None, top_p=None)
    assert json.loads(bare.to_json()).keys() == {"engine", "model", "mode", "num_examples"}


def test_what_deviates_has_another_hash() -> None:
    seen = {RunConfig("e", "m").hash}
    for change in ("think", "seed", "prefix", "dtype"):
        seen.add(RunConfig("e", "m", more={change: "strip"}).hash)
    seen.add(RunConfig("e", "m").with_questions([Example("何？", "これ。")]).hash)
    seen.add(RunConfig("e", "m").with_questions([Example("何？", "あれ。")]).hash)
    assert len(seen) == 7


@pytest.mark.parametrize(
    ("recorded", "used"),
    [
        *(("前提\\n\\n", "前提\n\n"), ("a\\tb\nc", "a\tb\nc"), ("\\\\n", "\\n")),
        *(("C:\\d\\", "C:\\d\\"), ("\\xe5\\x89\\x8d", "前"), ("\\u00e5\\u0089\\u008d", "前")),
    ],
)
def test_the_prefix_has_escapes(recorded: str, used: str) -> None:
    config = RunConfig("e", "m", more={"prefix": recorded})
    assert config.prefix == used
    assert json.loads(config.to_json())["prefix"] == recorded


@given(st.text())
def test_whatever_the_prefix_is_it_is_read_as_published_or_refused(text: str) -> None:
    try:
        used = RunConfig("e", "m", more={"prefix": text}).prefix
    except SettingsError:
        return
    assert used == text or "\\" in text
    with suppress(UnicodeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for unknown escapes
        assert used == text.encode().decode("unicode_escape").encode("latin-1").decode()


def test_thinking_is_disabled_as_published() -> None:
    more = {"enable_thinking": False, "prefix": "前\\n"}
    assert RunConfig("openai-api", "m", more=more).prefix == "/no_think\n前\n"
    assert RunConfig("vllm", "m", more=more).prefix == "前\n"
    enabled = RunConfig("openai-api", "m", more={"enable_thinking": True})
    assert enabled.prefix == ""
    assert list(json.loads(enabled.to_json()))[:2] == ["enable_thinking", "engine"]


@given(st.text(st.sampled_from("./\\a:é\n\0 C"), max_size=7))
def test_no_model_climbs_out_of_the_results(model: str) -> None:
    results = Path("some/results").absolute()
    try:
        folder = RunConfig("e", model).folder(results)
    except SettingsError:
        return
    assert folder.resolve().is_relative_to(results.resolve())
    assert folder.relative_to(results).parent.as_posix() == model
    assert all(part not in ("", ".", "..") for part in model.split("/"))


@pytest.mark.parametrize(
    "model",
    ["", "/", "/etc", "a/../b", "..", "a//b", "a/", "./a", "C:/a", "C:", "\\\\host\\a", "a\nb"],
)
def test_bad_models(model: str) -> None:
    with pytest.raises(SettingsError, match="invalid run name"):
        RunConfig("e", model)


BAD: list[dict[str, Any]] = [
    *({"num_examples": value} for value in (-1, 1.5)),
    *({"max_tokens": value} for value in (0, True)),
    *({"temperature": value} for value in (-0.1, float("nan"), "1", True)),
    *({"top_p": value} for value in (0, 1.1)),
    *({"stop": value} for value in ("Q:", ("",), ("\ud800",))),
    *({"more": {"prefix": value}} for value in (None, "\\x", "\\u3042")),
    *({"more": {"dtype": value}} for value in ({1, 2}, float("inf"))),
    *({"more": more} for more in ({"model": "x"}, {"think": "hide"}, {"seed": 1}, {1: 2})),
    *({"mode": "sing"}, {"more": {"enable_thinking": "no"}}),
]


@pytest.mark.parametrize("changes", BAD, ids=str)
def test_bad_values(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        RunConfig("e", "m", **changes)


@pytest.mark.parametrize("name", ["api_key", "hf_token", "token", "password", "client_secret"])
def test_secrets_are_not_recorded(name: str) -> None:
    with pytest.raises(SettingsError, match=f"^{name} looks like a secret") as caught:
        RunConfig("e", "m", more={name: "sk-1"})
    assert "sk-1" not in str(caught.value)
    assert (
        "sk-1"
        not in RunConfig("e", "m", more={f"_{name}": "sk-1", "max_tokens_name": "n"}).to_json()
    )


# Prompts, equal to the golden ones and to an oracle, and what is made of generated texts.


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
SAMPLES = st.dictionaries(TEXT, TEXT, min_size=1, max_size=6).map(lambda d: list(d.items()))


def plain_task(
    samples: list[tuple[str, str]],
    question: str,
    *,
    mode: str,
    trial: int,
    num_examples: int,
    seed_text: str,
    prefix: str,
) -> dict[str, Any]:
    """What a question becomes in a trial, with the keys of the golden prompts."""
    others = [pair for pair in samples if pair[0] != question]
    others.sort(key=lambda pair: sha1(f"{seed_text}::{trial}::{pair[0]}"))
    shown = "".join(f"Q: {q}\nA: {a}\n\n" for q, a in others[:num_examples])
    titled = "## 回答例\n" + shown
    seed = int(sha1(f"{seed_text}::{trial}"), 16) % 2**31
    if mode == "chat":
        rule = "例と同様の文体及び文字数で、ユーザの質問に1行で答えてください。"
        system = f"{rule}\n\n{titled}".strip()
        parts = {"system_prompt": prefix + system, "user_prompt": f"Q: {question}"}
    elif mode == "qa":
        rule = "例と同様の文体及び文字数で、質問に1行で答えてください。"
        examples = f"{rule}\n\n{titled}".strip()
        parts = {"prompt": f"{prefix}{examples}\n\n## 質問\nQ: {question}"}
    else:
        parts = {"prompt": f"{prefix}{titled.strip()}\n\nQ: {question}\nA:"}
    return {"question": question, **parts, "seed": seed}


def sha1(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()


def as_row(task: Task) -> dict[str, Any]:
    """A task with the keys of the golden prompts."""
    if task.mode == "chat":
        prompts = {"system_prompt": task.system, "user_prompt": task.prompt}
    else:
        prompts = {"prompt": task.prompt}
    return {"question": task.question, **prompts, "seed": task.seed}


@pytest.mark.published
def test_golden_prompts(published_dir: Path, vectors_dir: Path) -> None:
    examples = read_examples(published_dir)
    samples = [(example.question, example.answer) for example in examples]
    rows = (vectors_dir / "prompts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 60
    for row in map(json.loads, rows):
        wanted = row["task"]
        prompter = Prompter(
            examples,
            row["mode"],
            num_examples=row["num_examples"],
            seed=row["seed_text"],
            prefix=row["prefix"],
        )
        [task] = prompter.tasks(row["trial"], [wanted["question"]])
        assert as_row(task) == wanted
        choice = {key: row[key] for key in row if key != "task"}
        assert plain_task(samples, wanted["question"], **choice) == wanted


@settings(max_examples=200)
@given(SAMPLES, st.sampled_from(MODES), st.integers(1, 10**6), st.integers(0, 8), TEXT, TEXT)
def test_any_questions(
    samples: list[tuple[str, str]], mode: Any, trial: int, shown: int, seed: str, prefix: str
) -> None:
    examples = [Example(*pair) for pair in samples]
    prompter = Prompter(examples, mode, num_examples=shown, seed=seed, prefix=prefix)
    chosen: dict[str, Any] = {"mode": mode, "trial": trial, "num_examples": shown}
    chosen |= {"seed_text": seed, "prefix": prefix}
    wanted = [plain_task(samples, question, **chosen) for question, _ in samples]
    assert [as_row(task) for task in prompter.tasks(trial)] == wanted


def test_messages() -> None:
    [task] = Prompter([Example("何？", "これ。")], "chat").tasks(1)
    assert [message["role"] for message in task.messages] == ["system", "user"]
    assert task.messages[1]["content"] == "Q: 何？"
    [task] = Prompter([Example("何？", "これ。")], "qa").tasks(1)
    assert [message["role"] for message in task.messages] == ["user"]


def test_bad_choices() -> None:
    examples = [Example("何？", "これ。")]
    with pytest.raises(SettingsError, match="completion, qa, chat"):
        Prompter(examples, "sing")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="num_examples must be at least 0"):
        Prompter(examples, num_examples=-1)
    with pytest.raises(InputError, match="trial must be at least 1"):
        Prompter(examples).tasks(0)
    with pytest.raises(InputError, match="no example answer"):
        Prompter(examples).tasks(1, ["誰？"])


def test_examples_of_the_bundled_benchmark() -> None:
    bench = load_benchmark("mini")
    assert bench.folder is not None
    examples = read_examples(bench.folder)
    assert sorted(e.question for e in examples) == sorted(q.text for q in bench)
    for copied in (pickle.loads(pickle.dumps(bench)), bench.with_settings(Settings(unit="word"))):
        assert copied.folder == bench.folder
    assert read_examples() == read_examples("mini") == examples
    assert read_examples(bench.folder / "questions.jsonl") == examples


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "contains no questions"),
        (b'{"question": "a"}\n', "line 1: missing key 'answer'"),
        (
            b'{"question": "a", "answer": "b"}\n\n{"question": "a", "answer": "c"}\n',
            "duplicate question",
        ),
        (b'{"question": "a", "answer": "b"}\nnothing\n', "line 2: is not JSON"),
        (b'{"question": "a", "answer": "\xff"}\n', "line 1: is not UTF-8"),
    ],
)
def test_bad_examples(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(BenchmarkError, match=said) as caught:
        read_examples(path)
    assert caught.value.path == path


@pytest.mark.published
def test_examples_of_an_installed_benchmark(published_dir: Path) -> None:
    install.install(source=published_dir)
    examples = read_examples("pfgen-bench")
    assert len(examples) == 50
    assert examples == read_examples(published_dir) == read_examples(published_dir / "data")


def test_a_benchmark_without_examples(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="example answers that prompts show"):
        read_examples(tmp_path)


PIECES = ["<think>", "</think>", "A:", "Q:", "\n\n", "\n", " ", "猫", "A", ":", "\ud800", "\u3000"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def oracle(text: str, mode: str, stop: tuple[str, ...], think: str) -> str:
    text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    if think == "strip":
        text = re.sub(r"\A((?!<think>).)*?</think>", "", text, flags=re.DOTALL)
        text = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL).lstrip()
    if stop:
        text = re.split("|".join(map(re.escape, stop)), text, maxsplit=1)[0]
    if mode in ("chat", "qa"):
        text = re.sub(r"\A.*?A:", "", text, count=1, flags=re.DOTALL)
    return text.strip()


@settings(max_examples=200)
@given(TEXTS, st.sampled_from(MODES), st.booleans(), st.sampled_from(THINK))
def test_any_text(text: str, mode: Any, stops: bool, think: Any) -> None:
    stop = default_stop(mode) if stops else ()
    assert cleaned(text, mode, stop, think=think) == oracle(text, mode, stop, think)


@pytest.mark.parametrize(
    ("text", "mode", "stop", "wanted"),
    [
        (" 猫です。\nQ: 犬は？", "completion", ("Q:",), "猫です。"),
        ("一行目。\n\n二行目。", "completion", ("Q:", "\n\n"), "一行目。"),
        ("A: 猫です。", "completion", (), "A: 猫です。"),
        ("Q: 何？\nA: 猫です。A: 犬", "qa", (), "猫です。A: 犬"),
        ("答えは A: 猫です。", "chat", ("Q:",), "猫です。"),
        ("xab", "chat", ("ab", "xa"), ""),
        ("  \n", "chat", (), ""),
    ],
)
def test_as_published(text: str, mode: Any, stop: tuple[str, ...], wanted: str) -> None:
    assert cleaned(text, mode, stop) == wanted


def test_unknown_choice() -> None:
    with pytest.raises(SettingsError, match="keep, strip"):
        cleaned("猫", "qa", think="hide")  # type: ignore[arg-type]


def test_hostile_text_takes_linear_time() -> None:
    begun = time.process_time()
    for piece in ("<think>", "</think>", "<think></think>", "A:", "Q:"):
        cleaned(piece * 200_000, "qa", default_stop("qa"), think="strip")
    assert time.process_time() - begun < 5
