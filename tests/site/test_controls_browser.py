"""Every control of every kind of page, in a real browser: by keyboard and pointer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import controls
from browser import NewPage
from whole_site import build_everything, pages

pytestmark = pytest.mark.browser

# Places within pages that show more than the pages alone.
MORE = {"compare": "#runs={runs}", "blind": "#blind"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one of each kind of result."""
    return build_everything(tmp_path_factory.mktemp("everything"))


def places(site: Path, language: str = "en") -> Iterator[tuple[str, str]]:
    """The address of each kind of page in a language."""
    runs = "+".join(sorted(path.name for path in (site / "runs").iterdir() if path.is_dir()))
    known = pages(site)
    for kind, path in {**known, "blind": known["verdicts"]}.items():
        yield kind, f"{path.as_uri()}?lang={language}{MORE.get(kind, '').format(runs=runs)}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_tab_key_reaches_every_control_and_shows_it(
    new_page: NewPage, site: Path, scheme: Any
) -> None:
    page, wrong = new_page(color_scheme=scheme), {}
    for kind, address in places(site):
        known = controls.found(controls.opened(page, address))
        for control, faults in zip(known, controls.missed(page, len(known)), strict=True):
            if faults:
                wrong[kind, control] = faults
    assert wrong == {}


def test_controls_have_names_that_follow_the_language(new_page: NewPage, site: Path) -> None:
    """A page whose language is changed is the page that was opened in that language."""
    told: list[Any] = []
    for (kind, english), (_, japanese) in zip(places(site), places(site, "ja"), strict=True):
        page = controls.opened(new_page(), english)
        before = controls.still(page)[1]
        page.locator("#language").click()
        for own in (page, controls.opened(new_page(), japanese)):
            kinds = controls.found(own)
            named = [*zip(kinds, controls.names(own), strict=True)]
            assert [control for control, name in named if not name] == [], kind
            told.append((controls.still(own)[1], named))
        assert told[-2] == told[-1], kind
        assert told[-1][0] != before, kind


def differing(one: list[str], other: list[str]) -> list[Any]:
    """The lines that only one of two states has."""
    return [{*a.splitlines()} ^ {*b.splitlines()} for a, b in zip(one, other, strict=True)]


def test_keys_do_what_the_pointer_does(new_page: NewPage, site: Path) -> None:  # noqa: C901 - one loop
    """One control of each kind after the other, in two windows: one has a pointer, the other a keyboard."""
    wrong: list[Any] = []
    done: set[str] = set()  # on any page
    for kind, address in places(site):
        pointed, pressed = (controls.opened(new_page(), address) for _ in range(2))
        done |= {*controls.found(pressed, "header, .skip")}
        while True:
            known = controls.found(pointed)
            assert controls.found(pressed) == known, (kind, done)
            new = (each for each in enumerate(known) if each[1] not in done)
            if (one := next(((*each, controls.acts(each[1])) for each in new), None)) is None:
                break
            number, control, ways = one
            done.add(control)
            if ways is None:
                continue
            before = controls.opens(pressed)
            for page, way in zip((pointed, pressed), ways, strict=True):
                own: Any = page.evaluate_handle(f"() => window.controls[{number}]").as_element()
                own.focus()
                way(own, page)
                page.mouse.move(0, 0)
            states = [controls.still(page) for page in (pointed, pressed)]
            if states[0] != states[1]:
                wrong.append((kind, control, differing(*states)))
            if pressed.evaluate("document.activeElement === document.body"):
                wrong.append((kind, control, "the focus is lost"))
            if controls.opens(pressed) > before:
                for page in (pointed, pressed):
                    page.keyboard.press("Escape")
                    controls.still(page)
                if controls.opens(pressed) > before or not controls.is_at(pressed, number):
                    wrong.append((kind, control, "Escape"))
    assert wrong == []
