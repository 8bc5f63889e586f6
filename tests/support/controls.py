"""Every control of a page: its name, whether the Tab key reaches it, what pointer and keys do with it."""

# ruff: noqa: E501 - scripts

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from browser import Page

_FIND = """(within) => {
  const wanted = "a[href], button, input, select, textarea, summary, [tabindex], [role=tab], [role=slider], [role=option]";
  const isThere = (own) => own.checkVisibility({ visibilityProperty: true }) && own.getClientRects().length && !own.disabled;
  const isOurs = (own) => own.tabIndex >= 0 || own.matches("a, button, input, select, [role]");
  window.controls = [...document.querySelectorAll(wanted)].filter((own) => isThere(own) && isOurs(own) && own.closest(within));
  return window.controls.map((own) => {
    const about = [own.localName, own.type, own.name, own.getAttribute("class") ?? own.querySelector("[data-t]")?.dataset.t];
    return [...about, own.closest("[id]:not(article, section)")?.id].filter(Boolean).join(" ");
  });
}"""
_OPEN = """() => {
  const kinds = new Map([...document.querySelectorAll("details")].reverse().map((own) => [own.className + own.parentElement.className, own]));
  for (const own of kinds.values()) own.open = true;
}"""
_NAMES = "() => window.controls.map((own) => own.computedName)"
_WATCH = """() => {
  window.reached = new Map();
  document.addEventListener("focusin", ({ target }) => {
    const style = getComputedStyle(target);
    const { left, top, width, height } = target.getBoundingClientRect();
    const inside = (place, most) => Math.min(Math.max(place, 1), most - 1);
    const at = document.elementFromPoint(inside(left + width / 2, innerWidth), inside(top + Math.min(height, 40) / 2, innerHeight));
    const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const isSeen = left < innerWidth && left + width > 0 && top < innerHeight && top + height > 0;
    window.reached.set(target, [isMarked || "no outline", isSeen || "not in sight", Boolean(at && (target.contains(at) || at.contains(target))) || "covered"]);
  });
}"""
_MISSED = """() => {
  const inside = (own) => own.tabIndex < 0 && own.parentElement.closest("[tabindex='0'], [role=listbox], svg");
  const isOfGroup = (own) => own.type === "radio" && !own.checked;
  return window.controls.map((own) => inside(own) || isOfGroup(own) ? [] : (window.reached.get(own) ?? ["not reached"]).filter((each) => each !== true));
}"""
_STILL = """async () => {
  const fields = () => [...document.querySelectorAll("input, select, textarea, details, dialog")].map((own) => own.checked ?? own.open ?? own.value);
  // Sliders of answers follow what the pointer happens to be over.
  const values = () => [...document.querySelectorAll("input:not([type=checkbox], .inspect *), select, textarea")].map((own) => own.value);
  const parts = () => [...document.querySelectorAll("header, main, footer, dialog")];
  const state = () => [location.href, parts().map((own) => own.innerText).join(" "), JSON.stringify([fields(), values()])];
  let [last, quiet] = [state(), 0];
  while (quiet < 5) { // longer than what pages wait for further changes
    await new Promise((resolve) => setTimeout(resolve, 40));
    const now = state();
    const isSame = now.every((each, i) => each === last[i]) && !document.querySelector("[aria-busy=true]");
    [last, quiet] = [now, isSame ? quiet + 1 : 0];
  }
  return last;
}"""
_OPENED = "() => document.querySelectorAll('[role=listbox]:not([hidden]), dialog[open]').length"
_AT = "(number) => document.activeElement === window.controls[number]"


def opened(page: Page, address: str) -> Page:
    """The page at an address once it is ready, with one of each kind of its parts unfolded."""
    page.goto("about:blank")
    page.goto(address)
    page.locator("#switches button").first.wait_for()
    still(page)
    page.evaluate(_OPEN)
    still(page)
    return page


def still(page: Page) -> list[str]:
    """Address, text and values of a page, once they change no more."""
    return page.evaluate(_STILL)  # type: ignore[no-any-return]


def found(page: Page, within: str = "html") -> list[str]:
    """Every control that there is now, by what it is and where; those alike are called the same."""
    return page.evaluate(_FIND, within)  # type: ignore[no-any-return]


def names(page: Page) -> list[str]:
    """What assistive technology calls those that were found, as the browser computes it."""
    return page.evaluate(_NAMES)  # type: ignore[no-any-return]


def missed(page: Page, count: int) -> list[list[str]]:
    """What is wrong with each control that was found while the Tab key goes through the page."""
    page.evaluate(_WATCH)
    for _ in range(count + 3):
        page.keyboard.press("Tab")
    return page.evaluate(_MISSED)  # type: ignore[no-any-return]


def opens(page: Page) -> int:
    """How many lists, dialogs and boxes are open."""
    return page.evaluate(_OPENED)  # type: ignore[no-any-return]


def is_at(page: Page, number: int) -> bool:
    """Whether a control has the focus."""
    return page.evaluate(_AT, number)  # type: ignore[no-any-return]


Act = Callable[[Any, Page], None]


def acts(kind: str) -> tuple[Act, Act] | None:  # noqa: C901 - a case each
    """What pointer and keys do with a kind of control; `None` where these do nothing on a page."""
    tag, _, more = kind.partition(" ")

    def press(key: str) -> Act:
        return lambda _, page: page.keyboard.press(key)

    click: Act = lambda own, _: own.click()  # noqa: E731
    if more.startswith(("file", "date")) or tag == "a":  # keys follow links by themselves
        return None
    if tag == "summary":
        return click, press("Enter")
    if tag == "button":
        return click, press("Space" if len(kind) % 2 else "Enter")
    if more.startswith(("checkbox", "radio")):
        return click, press("Space")
    if tag == "select":
        following = "(own) => Math.min(own.selectedIndex + 1, own.options.length - 1)"
        return lambda own, _: own.select_option(index=own.evaluate(following)), press("ArrowDown")
    if more.startswith(("range", "number")):
        up = "(own) => { const other = own.cloneNode(); other.step = 1; other.stepUp(); return other.value; }"
        return lambda own, _: own.fill(own.evaluate(up)), press("ArrowUp")
    if tag in ("input", "textarea"):
        return lambda own, _: own.fill("a"), lambda _, page: page.keyboard.type("a")
    return None
