"""What a gate found, for pull requests (Markdown) and for CI systems (JUnit XML)."""

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from pfgen_rs.gating import Gate
from pfgen_rs.io.text import visible
from pfgen_rs.report.markup import inert
from pfgen_rs.stats.estimates import Estimate
from pfgen_rs.stats.gating import Decision

_MARKS = {"pass": "✅", "drop": "❌", "rise": "❌", "cannot tell": "⚠️"}
_OUTCOMES = {"drop": "failure", "rise": "failure", "cannot tell": "skipped"}


def gate_markdown(gate: Gate) -> str:
    """Returns a section for a comment or a summary: verdict, scores, differences, what fell most.

    Names are untrusted, and nothing in them acts.
    """
    base, new = (inert(name) for name in gate.names)
    lines = [
        f"### {_MARKS[gate.verdict]} pfgen: {gate.verdict}",
        "",
        f"| | base: {base} | new: {new} | difference | |",
        "| --- | --- | --- | --- | --- |",
        *(_row(decision) for decision in gate.decisions),
        "",
    ]
    lines += [*(f"- {sentence}" for sentence in gate.sentence.splitlines()), "", *_fell_most(gate)]
    return "\n".join([*lines, f"<sub>{inert(gate.signature or '')}</sub>", ""])


def _row(decision: Decision) -> str:
    scores = f"{_score(decision.base)} | {_score(decision.new)}"
    return f"| {decision.metric} | {scores} | {decision.bounds} | {decision.verdict} |"


def _score(estimate: Estimate) -> str:
    return f"{estimate.mean:.4f} ({estimate.low:.3f} to {estimate.high:.3f})"


def _fell_most(gate: Gate) -> Iterator[str]:
    rows = gate.fell_most()
    if not rows:
        return
    yield from ("| fell most | base | new | difference |", "| --- | --- | --- | --- |")
    for row in rows:
        means = f"{row['mean_b']:.4f} | {row['mean_a']:.4f} | {row['difference']:+.4f}"
        yield f"| {inert(row['question_id'])} {inert(row['question'])} | {means} |"
    yield ""


def gate_junit(gate: Gate) -> bytes:
    """Returns JUnit XML: a suite with a case for each metric.

    A drop is a failure, and "cannot tell" a skipped test, both with the sentence. Characters that XML
    lacks are shown as codes.
    """
    base, new = (visible(name) for name in gate.names)
    cases = []
    for decision in gate.decisions:
        case = ET.Element("testcase", classname="pfgen", name=f"{decision.metric}: {new} vs {base}")
        case.set("time", "0")
        said = ET.SubElement(case, _OUTCOMES.get(decision.verdict, "system-out"))
        said.text = decision.sentence  # which GitLab shows, and Jenkins the attribute
        if said.tag != "system-out":
            said.set("message", decision.sentence)
        if said.tag == "failure":
            said.set("type", decision.verdict)
        cases.append(case)
    found = [_OUTCOMES.get(decision.verdict) for decision in gate.decisions]
    counts = {
        "name": "pfgen-rs gate",
        "tests": str(len(found)),
        "failures": str(found.count("failure")),
        "errors": "0",
        "skipped": str(found.count("skipped")),
        "time": "0",
    }
    suite = ET.Element("testsuite", counts)
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return b"%b\n" % ET.tostring(root, "utf-8", xml_declaration=True)
