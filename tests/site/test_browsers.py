"""What tests of pages hear of a page, in chromium and in firefox."""

from pathlib import Path

import pytest

from browser import Launch, Watch, in_each, settled

pytestmark = pytest.mark.browser

WRONG = """<!doctype html><title>x</title><img src="https://x.invalid/x"><script>
console.error("said");
addEventListener("load", () => { setTimeout(() => alert("asked")); throw new Error("thrown"); });
</script>"""
POLICY = "<meta http-equiv=content-security-policy content=\"default-src 'none'\">"
HEARD = {
    WRONG: {"asked", "said", "thrown", "https://x.invalid/x"},
    f"{POLICY}<script>bad = 1</script>": {"script-src"},
    f"{POLICY}<img src=https://x.invalid/x>": {"img-src"},
    f"{POLICY}<p style='color: red'>": {"style-src"},
}


@in_each
@pytest.mark.parametrize("content", HEARD, ids=["own", "script", "image", "style"])
def test_what_a_page_does_wrong_is_heard(
    launched: Launch, engine: str, tmp_path: Path, content: str
) -> None:
    """Of all that `new_page` lets no test of a page pass with."""
    watch = Watch()
    (tmp_path / "page.html").write_text(content, encoding="utf-8")
    page = launched(engine).new_page()
    watch.over(page, None, None)
    page.goto((tmp_path / "page.html").as_uri())

    def heard() -> set[str]:
        return {word for word in HEARD[content] if any(word in text for text in watch.problems)}

    assert settled(page, heard, HEARD[content]) == HEARD[content], watch.problems
    page.close()
