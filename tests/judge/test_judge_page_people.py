"""People judge pairs on the page of verdicts: blind, by keyboard, kept and downloaded; what that changes."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from browser import Browser, NewPage, Page, expect, settled
from pfgen_rs.judge import Pair, VerdictFolder, cohen_kappa, concordance, read_humans
from pfgen_rs.judge.agreement import measures
from pfgen_rs.judge.decisions import column_codes, letter_codes, winner_probabilities
from pfgen_rs.judge.pages import index_payload, verdict_view, write_verdict_page
from pfgen_rs.judge.verdicts import LETTERS, SWAPPED
from pfgen_rs.stats.checks import two_sided_quantile
from pfgen_rs.stats.shares import wilson
from site_samples import HOSTILE
from verdict_pages import (
    MODELS,
    made_verdict_pairs,
    write_hostile_verdicts,
    write_human_verdicts,
    write_verdict_folder,
)

COUNT = 24
PAIRS = {pair.id: pair for pair in made_verdict_pairs(COUNT)}
RATER = "山田 <b>"
KEYS = {"A": "1", "B": "b", "C": "3"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of two judges, one of which lacks pairs, and three raters."""
    folder = tmp_path_factory.mktemp("people")
    pairs = [*PAIRS.values()]
    write_verdict_folder(folder / "one", pairs)
    write_verdict_folder(folder / "two", pairs[5:], model="other", shift=3)
    humans = write_human_verdicts(folder / "humans.jsonl", pairs)
    write_verdict_page([folder / "one", folder / "two"], folder / "page.html", humans=humans)
    return folder


def units_hash(text: str) -> int:
    """FNV-1a of units of UTF-16, mixed as MurmurHash3 does at its end."""
    value = 0x811C9DC5
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), "<u2")
    for unit in units.tolist():
        value = (value ^ unit) * 0x01000193 % 2**32
    value = (value ^ value >> 16) * 0x85EBCA6B % 2**32
    value = (value ^ value >> 13) * 0xC2B2AE35 % 2**32
    return value ^ value >> 16


def queue_of(made: Path) -> list[tuple[Pair, str]]:
    """The pairs in the order in which everybody judges them, with their digests."""
    index = index_payload(verdict_view([made / "one"]), [0])
    digests = [index["digests"][12 * i : 12 * i + 12] for i in range(len(index["ids"]))]
    return [(PAIRS[i], d) for d, i in sorted(zip(digests, index["ids"], strict=True))]


def begin(page: Page, address: str, rater: str = RATER) -> Page:
    page.goto("about:blank")  # so that the page begins anew
    page.goto(f"{address}#blind")
    page.locator("[name=rater]").fill(rater)
    page.locator("[name=rater]").press("Enter")
    expect(page.locator("#blind h2")).to_be_focused()
    return page


def again(page: Page, rater: str) -> None:
    """Leave the form, and begin as somebody, without leaving the page."""
    page.get_by_role("button", name="Back to the list").click()
    page.get_by_role("link", name="Judge pairs blind").click()
    page.locator("[name=rater]").fill(rater)
    page.locator("[name=rater]").press("Enter")


def answers(page: Page) -> list[str]:
    found: list[str] = page.locator("#blind .side .text").all_inner_texts()
    return found


def press(page: Page, key: str) -> None:
    """Press a key, and wait for what it shows."""
    before = page.locator("#blind h2").element_handle()
    page.keyboard.press(key)
    settled(page, lambda: before.evaluate("h => h.isConnected"), wanted=False)


def downloaded(page: Page, folder: Path) -> list[dict[str, Any]]:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download verdicts").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


# The form


@pytest.mark.parametrize("rater", [RATER, "r2"])
def test_answers_come_in_an_order_of_chance_and_letters_are_swapped_back(
    page: Page, made: Path, tmp_path: Path, rater: str
) -> None:
    begin(page, (made / "page.html").as_uri(), rater)
    wanted, swaps = {}, 0
    for n, (pair, digest) in enumerate(queue_of(made)):
        expect(page.locator("#blind h2")).to_have_text(f"Pair {n + 1} of {COUNT}")
        is_swapped = units_hash(f"{rater}\n{digest}") % 2 == 1
        swaps += is_swapped
        assert answers(page) == [*reversed(pair.answers)] if is_swapped else [*pair.answers]
        letter = LETTERS[n % 3]
        wanted[pair.id] = SWAPPED[letter] if is_swapped else letter
        press(page, KEYS[letter])
    assert COUNT / 5 < swaps < COUNT * 4 / 5
    expect(page.locator("#blind h2")).to_have_text("No pair is left")
    lines = downloaded(page, tmp_path)
    assert {line["id"]: line["verdict"] for line in lines} == wanted
    assert [set(line) for line in lines] == [{"id", "rater", "verdict"}] * COUNT
    name = "humans-山田_b_.jsonl" if rater == RATER else "humans-r2.jsonl"
    table = read_humans(tmp_path / name, PAIRS)
    assert table["rater"].unique().to_list() == [rater]


def test_models_and_verdicts_are_nowhere_while_judging(page: Page, made: Path) -> None:
    begin(page, (made / "page.html").as_uri())
    for _ in range(3):
        press(page, "1")
    page.locator("details.figures summary").click()
    expect(page.locator("details.figures tbody tr").first).to_contain_text("Judge 1")
    pair, _ = queue_of(made)[3]
    for text in (pair.question.split()[0], pair.criteria or "", pair.reference or ""):
        assert text in page.locator("#blind").inner_text()
    content = page.content()
    hidden = (*MODELS, "judge · reason", "other · reason", "p003", "rater 0", "の1")
    assert [name for name in hidden if name in content] == []
    page.get_by_role("button", name="日本語").click()
    page.get_by_role("button", name="判定をやめて一覧に戻る").click()
    expect(page.locator("#list .pair").first).to_be_visible()
    assert MODELS[0] in page.locator("#list").inner_text()
    expect(page.locator("#own")).to_contain_text("3 ペアを判定しました")
    assert "Search" not in page.locator("#look").inner_text()


def test_undo_skip_and_reload(page: Page, made: Path, tmp_path: Path) -> None:
    address = (made / "page.html").as_uri()
    begin(page, address)
    first = answers(page)
    press(page, "s")
    second = answers(page)
    press(page, "2")
    press(page, "u")
    assert answers(page) == second
    press(page, "a")
    page.reload()
    assert page.locator("[name=rater]").input_value() == RATER
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#blind h2")).to_have_text(f"Pair 3 of {COUNT}")
    assert len(downloaded(page, tmp_path)) == 1
    for _ in range(COUNT - 2):
        press(page, "c")
    page.get_by_role("button", name="Judge skipped pairs").click()
    expect(page.locator("#blind h2")).to_have_text(f"Pair {COUNT} of {COUNT}")
    assert answers(page) == first
    press(page, "3")
    assert len(downloaded(page, tmp_path)) == COUNT
    begin(page, address, "another")
    expect(page.locator("#blind h2")).to_have_text(f"Pair 1 of {COUNT}")


def test_a_held_key_and_a_quick_one_judge_no_pair_unseen(
    page: Page, made: Path, tmp_path: Path
) -> None:
    begin(page, (made / "page.html").as_uri())

    def dispatch(keys: str, *, repeat: bool) -> None:
        """Press keys before the page can show anything."""
        page.evaluate(
            "([keys, repeat]) => [...keys].forEach((key) => document.body.dispatchEvent("
            "new KeyboardEvent('keydown', {key, repeat, bubbles: true})))",
            [keys, repeat],
        )

    dispatch("111", repeat=True)
    page.wait_for_timeout(200)
    expect(page.locator("#blind h2")).to_have_text(f"Pair 1 of {COUNT}")
    dispatch("321", repeat=False)
    expect(page.locator("#blind h2")).to_have_text(f"Pair 2 of {COUNT}")
    assert [line["verdict"] for line in downloaded(page, tmp_path)] == ["C"]


def test_filters_choose_the_pairs_to_judge(page: Page, made: Path) -> None:
    begin(page, (made / "page.html").as_uri() + "?show=flipped+people_differ&task=9")
    index = index_payload(verdict_view([made / "one", made / "two"], made / "humans.jsonl"), [0])
    flipped = [
        {a, b} == {"A", "B"}
        for a, b in zip(*(index["judges"][0][v] for v in ("v1", "v2")), strict=True)
    ]
    split = [len({*each} - {"-"}) > 1 for each in zip(*index["letters"], strict=True)]
    wanted = sum(map(all, zip(flipped, split, strict=True)))
    assert 0 < wanted < COUNT
    expect(page.locator("#blind h2")).to_have_text(f"Pair 1 of {wanted}")
    press(page, "1")
    expect(page.locator("#blind h2")).to_have_text(f"Pair 2 of {wanted}")


def chosen_file(page: Page, content: str) -> None:
    page.locator("#blind input[type=file]").set_input_files(
        {"name": "x.jsonl", "mimeType": "text/plain", "buffer": content.encode()}
    )


def test_an_earlier_file_goes_on(page: Page, made: Path, tmp_path: Path) -> None:
    begin(page, (made / "page.html").as_uri())
    press(page, "1")
    judged = queue_of(made)[0][0].id
    verdicts = [
        (pair, RATER, "B") for pair in [judged, *(each for each in PAIRS if each != judged)][:9]
    ]
    verdicts += [("p011", "someone else", "A"), ("nowhere", RATER, "A")]
    lines = [
        json.dumps(dict(zip(("id", "rater", "verdict"), each, strict=True))) for each in verdicts
    ]
    chosen_file(page, "\n".join([*lines[:3], "not JSON", *lines[3:]]))
    expect(page.locator("#blind")).to_contain_text("Line 4 is not a verdict: nothing was loaded.")
    chosen_file(page, "\n".join(lines))
    expect(page.locator("#blind")).to_contain_text("Loaded 8 verdicts; 2 of other raters or pairs")
    expect(page.locator("#blind h2")).to_have_text(f"Pair 10 of {COUNT}")
    found = {line["id"]: line["verdict"] for line in downloaded(page, tmp_path)}
    swapped = units_hash(f"{RATER}\n{queue_of(made)[0][1]}") % 2
    assert found.pop(judged) == "AB"[swapped]  # what was said here is newer
    assert set(found.values()) == {"B"}


def test_a_rater_whose_verdicts_the_page_has_goes_on(
    page: Page, made: Path, tmp_path: Path
) -> None:
    given = read_humans(made / "humans.jsonl", PAIRS).filter(pl.col("rater") == "rater 2")
    assert 0 < len(given) < COUNT - 1
    begin(page, (made / "page.html").as_uri(), "rater 2")
    expect(page.locator("#blind h2")).to_have_text(f"Pair {len(given) + 1} of {COUNT}")
    press(page, "3")
    found = {line["id"]: line["verdict"] for line in downloaded(page, tmp_path)}
    assert dict(given.select("pair", "verdict").rows()).items() <= found.items()
    assert len(found) == len(given) + 1
    page.get_by_role("button", name="Back to the list").click()
    said = page.locator("#list .pair .facts").filter(has_text="rater 2").first
    assert said.inner_text().count("rater 2") == 1, "a rater has one verdict"


NO_STORAGE = (
    "Object.defineProperty(window, 'localStorage', {get() { throw new Error('forbidden'); }});"
)
PICKER = """
window.written = [];
window.showSaveFilePicker = async ({suggestedName}) => ({
  name: suggestedName,
  createWritable: async () => {
    if (window.full) throw new Error("disk is full");
    let text = "";
    return {write: async (more) => { text += more; }, close: async () => window.written.push(text)};
  },
});
"""


def test_where_nothing_is_kept_it_says_so(page: Page, made: Path, tmp_path: Path) -> None:
    page.add_init_script(NO_STORAGE)
    begin(page, (made / "page.html").as_uri())
    press(page, "1")
    expect(page.locator("#blind")).to_contain_text("This browser cannot keep your verdicts")
    for rater, judged in (("another", 0), (RATER, 1)):
        again(page, rater)
        expect(page.locator("#blind h2")).to_have_text(f"Pair {judged + 1} of {COUNT}")
    assert len(downloaded(page, tmp_path)) == 1


def test_a_file_is_written_after_each_verdict(page: Page, made: Path) -> None:
    page.add_init_script(PICKER)
    begin(page, (made / "page.html").as_uri())
    press(page, "1")
    page.get_by_role("button", name="Save to a file…").click()
    expect(page.locator("#blind")).to_contain_text("Each verdict is saved to humans-山田_b_.jsonl.")
    press(page, "2")

    def counts() -> Any:
        return page.evaluate("written.map((text) => text.split('\\n').length - 1)")

    assert settled(page, counts, [1, 2]) == [1, 2]
    page.evaluate("window.full = true")
    press(page, "3")
    expect(page.locator("#blind")).to_contain_text("The file could not be written")
    page.evaluate("window.full = false")
    page.get_by_role("button", name="Save to a file…").click()
    assert settled(page, counts, [1, 2, 3]) == [1, 2, 3]
    again(page, "another")
    press(page, "3")
    expect(page.locator("#blind")).not_to_contain_text("Each verdict is saved")
    assert counts() == [1, 2, 3], "a file of another rater is left alone"


def test_verdicts_on_other_texts_are_not_taken_over(page: Page, made: Path, tmp_path: Path) -> None:
    begin(page, (made / "page.html").as_uri())
    for _ in range(COUNT):
        press(page, "1")
    changed = [*made_verdict_pairs(COUNT)]
    changed[3] = Pair(**{**vars_of(changed[3]), "answers": ("other", "texts")})
    write_verdict_page([write_verdict_folder(tmp_path / "v", changed)], tmp_path / "page.html")
    begin(page, (tmp_path / "page.html").as_uri())
    expect(page.locator("#blind h2")).to_have_text(f"Pair {COUNT} of {COUNT}")
    assert sorted(answers(page)) == ["other", "texts"]


def vars_of(pair: Pair) -> dict[str, Any]:
    return {name: getattr(pair, name) for name in pair.__slots__}


def test_hostile_texts_are_judged(page: Page, tmp_path: Path) -> None:
    folder, humans = write_hostile_verdicts(tmp_path)
    write_verdict_page([folder], tmp_path / "page.html", humans=humans)
    for name in ("nobody", HOSTILE[1]):
        begin(page, (tmp_path / "page.html").as_uri(), name[:80])
        for _ in range(len(HOSTILE)):
            assert page.locator("#blind img, #blind script, #blind b").count() == 0
            press(page, "2")
        lines = downloaded(page, tmp_path)
        assert {line["rater"] for line in lines} == {name}
        [path] = tmp_path.glob("humans-*.jsonl")
        ids = [pair.id for pair in VerdictFolder(folder).pairs()]
        assert read_humans(path, ids)["pair"].to_list() == ids
        path.unlink()


# Figures


ASSETS = resources.files("pfgen_rs.report.site") / "assets"


@pytest.fixture(scope="module")
def calculator(browser: Browser) -> Iterator[Page]:
    """A page with nothing but the figures."""
    page = browser.new_page()
    scripts = [
        (ASSETS / f"{name}.js").read_text("utf-8") for name in ("statistics", "verdict_figures")
    ]
    page.add_script_tag(content="const pfgen = {};" + "\n".join(scripts))
    yield page
    page.close()


def interval(right: Sequence[int], groups: Sequence[int]) -> tuple[float, float]:
    """Cluster-robust, from the sandwich of an intercept-only regression; at least Wilson's."""
    y, n = np.array(right, float), len(right)
    members = np.eye(max(groups) + 1)[list(groups)]
    members = members[:, members.any(axis=0)]
    count, share = members.shape[1], y.mean()
    scores = members.T @ (y - share)
    variance = count / (count - 1) * (scores @ scores) / n**2 if count > 1 else 0.0
    size, reach = float(count), 0.0
    if variance > 1e-18:
        size = share * (1 - share) / variance
        reach = two_sided_quantile(0.95, min(count - 1, 1000)) * math.sqrt(variance)
    size = max(1, math.floor((min(size, count) if count < 9 else size) + 0.5))
    low, high = wilson(share * size, size)
    return max(0.0, min(low, share - reach)), min(1.0, max(high, share + reach))


@pytest.mark.parametrize(
    ("pairs", "questions", "right"),
    [(1, 1, 1.0), (7, 1, 0.5), (9, 3, 1.0), (40, 12, 0.7), (40, 12, 0.0), (3000, 1500, 0.6)],
)
def test_figures_are_those_of_python(
    calculator: Page, pairs: int, questions: int, right: float
) -> None:
    chance = np.random.default_rng([pairs, questions])
    said = chance.choice([*"ABC"], pairs).tolist()
    wrong = {"A": "-", "B": "C", "C": "."}
    hits = chance.random(pairs) < right
    decided = [letter if hit else wrong[letter] for letter, hit in zip(said, hits, strict=True)]
    winner = [
        p if letter in "ABC" else None
        for p, letter in zip(chance.random(pairs).tolist(), decided, strict=True)
    ]
    winner[0] = None if winner[0] is None else 1.0
    groups = chance.integers(0, questions, pairs).tolist()
    # A pair that the rater did not judge, and one that the judge does not have, do not count.
    judge = {"probability": "".join([*decided, "A", " "]), "winner": [*winner, 0.5, None]}
    found = calculator.evaluate(
        "([judge, said, groups]) => pfgen.verdictFigures(judge, 'probability', said, groups)",
        [judge, [*said, "-", "A"], [*groups, 0, questions]],
    )
    letters = [letter if letter in "ABC" else None for letter in decided]
    assert found["pairs"] == pairs
    assert found["share"] == pytest.approx(concordance(letters, said), abs=1e-12)
    kappa = cohen_kappa(letters, said)
    assert found["kappa"] == (None if math.isnan(kappa) else pytest.approx(kappa, abs=1e-12))
    probabilities = np.array([math.nan if p is None else p for p in winner])
    wanted = measures.calibration(letter_codes(letters), probabilities, letter_codes(said)[None])
    assert found["calibrated"] == wanted.pairs
    error = None if math.isnan(wanted.error) else pytest.approx(wanted.error, abs=1e-12)
    assert found["error"] == error
    bounds = interval([a == b for a, b in zip(letters, said, strict=True)], groups)
    assert (found["low"], found["high"]) == pytest.approx(bounds, abs=1e-9)


def test_no_verdict_no_figure(calculator: Page) -> None:
    found = calculator.evaluate(
        "pfgen.verdictFigures({probability: 'AB', winner: [1, 1]}, 'probability', '--', [0, 0])"
    )
    names = ("share", "low", "high", "kappa", "error")
    assert found == {"pairs": 0, "calibrated": 0, **dict.fromkeys(names)}


def values(page: Page) -> list[list[float]]:
    """Concordance, κ and calibration error of each row of the page's table of figures."""
    found = page.locator("table.figures tbody tr").evaluate_all(
        "rows => rows.map((r) => [...r.querySelectorAll('[data-value]')].map((c) => c.dataset.value))"
    )
    return [[float(value) for value in row] for row in found]


@pytest.mark.parametrize("rule", ["probability", "strict"])
def test_the_page_shows_them_at_once(page: Page, made: Path, tmp_path: Path, rule: str) -> None:
    begin(page, (made / "page.html").as_uri() + f"?rule={rule}")
    for n in range(COUNT - 3):
        press(page, "1231"[n % 4])
    downloaded(page, tmp_path)
    own = read_humans(next(tmp_path.glob("*.jsonl")), PAIRS)
    everyone = pl.concat([read_humans(made / "humans.jsonl", PAIRS), own])
    ids = pl.Series("pair", [*PAIRS])
    letters = pl.DataFrame({"pair": ids})
    codes = {
        rater: column_codes(
            letters.join(part, on="pair", how="left", maintain_order="left")["verdict"]
        )
        for (rater,), part in everyone.partition_by("rater", as_dict=True).items()
    }
    wanted = []
    for folder in ("one", "two"):
        table = VerdictFolder(made / folder).decisions()
        has = ids.is_in(table["pair"].to_list()).to_numpy()
        for raters in (codes[RATER][None], np.stack([*codes.values()])):
            said = measures.majority(raters[:, has])
            kept = said != -1
            decided, names = column_codes(table[rule])[kept], np.array(["A", "B", "C", None])
            error = measures.calibration(
                column_codes(table["probability"]), winner_probabilities(table), said[None]
            ).error
            pair = (names[decided].tolist(), names[said[kept]].tolist())
            wanted.append([concordance(*pair), cohen_kappa(*pair), error])
    page.locator("details.figures summary").click()
    assert values(page) == [pytest.approx(row, abs=1e-12) for row in wanted]
    page.get_by_role("button", name="Back to the list").click()
    expect(page.locator("#own table.figures tbody th").first).to_have_text("judge · reason")
    assert values(page) == [pytest.approx(row, abs=1e-12) for row in wanted]
    expect(page.locator("#list .pair").first).to_contain_text(RATER)


def test_one_judge_and_no_raters(page: Page, made: Path, tmp_path: Path) -> None:
    write_verdict_page([made / "one"], tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    expect(page.locator("#list .pair").first).to_be_visible()
    shown = [box.get_attribute("value") for box in page.locator("[name=show]:visible").all()]
    assert shown == ["unequal", "flipped", "no_decision", "invalid"]
    page.goto("about:blank")
    page.goto((tmp_path / "page.html").as_uri() + "?show=against+judges_differ+unstable")
    expect(page.locator("#found")).to_have_text(f"{COUNT} pairs")
    begin(page, (tmp_path / "page.html").as_uri())
    press(page, "1")
    page.get_by_role("button", name="Back to the list").click()
    expect(page.locator("table.figures tbody tr")).to_have_count(1)
    expect(page.locator("[name=show][value=against]")).to_be_visible()


# Keys of the list


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("many")
    verdicts = write_verdict_folder(folder / "v", made_verdict_pairs(45))
    write_verdict_page([verdicts], folder / "page.html")
    return (folder / "page.html").as_uri()


def focused(page: Page) -> Any:
    return page.evaluate("document.activeElement.closest('.pair')?.dataset.row")


def test_keys_lead_from_pair_to_pair(page: Page, many: str) -> None:
    page.goto(many)
    expect(page.locator("#list .pair").first).to_be_visible()
    for key, wanted in (("j", "0"), ("j", "1"), ("ArrowRight", "2"), ("k", "1")):
        page.keyboard.press(key)
        assert settled(page, lambda: focused(page), wanted) == wanted
    card = page.locator("#list .pair").nth(1)
    pair = made_verdict_pairs(2)[1]
    page.keyboard.press("o")
    assert card.locator(".side .text").all_inner_texts() == [*reversed(pair.answers)]
    expect(card.locator(".swap")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("b")
    expect(card.locator(".order")).to_have_count(2)
    page.keyboard.press("b")
    expect(card.locator(".order").first).not_to_be_visible()
    page.locator("#list .pair").last.focus()
    for key, wanted in (("j", "20"), ("ArrowLeft", "19")):
        page.keyboard.press(key)
        assert settled(page, lambda: focused(page), wanted) == wanted
    page.keyboard.press("/")
    expect(page.locator("[name=text]")).to_be_focused()
    page.keyboard.type("jk?")
    assert page.locator("[name=text]").input_value() == "jk?"


def test_the_list_of_keys_and_their_switch(page: Page, many: str) -> None:
    page.goto(many)
    expect(page.locator("#list .pair").first).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    assert re.findall(r"^\S", dialog.locator("tbody").inner_text(), re.MULTILINE) == [*"jkob/?"]
    dialog.get_by_label("Use single keys").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("j")
    assert focused(page) is None
    page.reload()
    expect(page.locator("#list .pair").first).to_be_visible()
    page.keyboard.press("j")
    assert focused(page) is None
    page.get_by_role("button", name="Keys").press("Enter")
    expect(dialog).to_be_visible()


def test_choices_stand_in_the_address(page: Page, many: str) -> None:
    page.goto(many)
    expect(page.locator("#list .pair").first).to_be_visible()
    page.locator("[name=show][value=unequal]").check()
    page.locator("[name=order]").select_option("dissent")
    page.locator("[name=everywhere]").uncheck()
    found = page.locator("#found")
    expect(found).not_to_have_text("45 pairs")
    told, ids = found.inner_text(), page.locator(".pair h3 a").all_inner_texts()
    page.reload()
    expect(found).to_have_text(told)
    assert settled(page, lambda: page.locator(".pair h3 a").all_inner_texts(), ids) == ids
    expect(page.locator("[name=everywhere]")).not_to_be_checked()
    page.get_by_role("button", name="Reset").click()
    expect(found).to_have_text("45 pairs")
    expect(page.locator("[name=everywhere]")).to_be_checked()
    assert "show" not in page.url
    page.goto(many + "?judge=7&order=nothing&show=unknown&models=5+6")
    expect(found).to_have_text("45 pairs")


def test_a_narrow_dark_form_scrolls_down_only(new_page: NewPage, made: Path) -> None:
    view = {"width": 360, "height": 740}
    page = new_page(viewport=view, color_scheme="dark", locale="ja-JP")
    begin(page, (made / "page.html").as_uri())
    press(page, "1")
    page.locator("details.figures summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") == view["width"]
    text = page.locator("main").inner_text()
    assert [word for word in ("Pair", "Judge", "better", "Skip", "Undo") if word in text] == []
